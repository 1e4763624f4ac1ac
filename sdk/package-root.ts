import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of this package: where configs/, examples/ and py/ are, built or not. */
export function packageRoot(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  for (let at = here; at !== dirname(at); at = dirname(at)) {
    if (existsSync(join(at, "package.json")) && existsSync(join(at, "configs"))) return at;
  }
  throw new Error(`genenv's own folder is not above ${here}`);
}
