import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Pin } from "./pins.js";

/**
 * Writes a distribution of metadata alone into `site`, so that importlib.metadata.version(name) answers.
 * It owns no module: uninstalling it takes nothing else away.
 */
export async function writeAlias(site: string, { name, version }: Pin): Promise<void> {
  const folder = `${name}-${version}.dist-info`;
  const files: Record<string, string> = {
    METADATA: `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\nSummary: Answers for ${name}, whose modules come from another distribution.\n`,
    WHEEL: "Wheel-Version: 1.0\nGenerator: genenv\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    INSTALLER: "genenv\n",
  };
  await mkdir(join(site, folder), { recursive: true });
  const record: string[] = [];
  for (const [file, text] of Object.entries(files)) {
    await writeFile(join(site, folder, file), text);
    const digest = createHash("sha256").update(text).digest("base64url");
    record.push(`${folder}/${file},sha256=${digest},${Buffer.byteLength(text)}`);
  }
  record.push(`${folder}/RECORD,,`, "");
  await writeFile(join(site, folder, "RECORD"), record.join("\n"));
}
