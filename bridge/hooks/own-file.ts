import { fileURLToPath } from "node:url";

/** A compiled module of this folder; run from the sources (the tests do), the one in the build beside them. */
export function ownFile(name: string): string {
  const isSource = import.meta.url.endsWith(".ts");
  return fileURLToPath(
    new URL(isSource ? `../../dist/bridge/hooks/${name}` : name, import.meta.url),
  );
}
