import { readFileSync } from "node:fs";
import { join } from "node:path";
import { cliHelp } from "./cli-help.js";
import { genenvKeysTable, refusedKeysTable, verlBaseTable } from "./config-tables.js";
import { configJsonSchema } from "./json-schema.js";
import { fillBlocks } from "./markdown.js";

/** A file that is generated, wholly or in parts: its path in the project, and the text it has to have. */
export interface GeneratedFile {
  path: string;
  text: string;
}

/** Every generated file of the project in `root`. */
export function generatedFiles(root: string): GeneratedFile[] {
  const page = (path: string, blocks: Record<string, string>): GeneratedFile => ({
    path,
    text: fillBlocks(readFileSync(join(root, path), "utf8"), blocks),
  });
  return [
    page("docs/config.md", {
      "genenv-keys": genenvKeysTable(),
      "verl-defaults": verlBaseTable(),
      "refused-keys": refusedKeysTable(),
    }),
    page("docs/cli.md", { commands: cliHelp() }),
    {
      path: "configs/genenv.schema.json",
      text: `${JSON.stringify(configJsonSchema(), null, 1)}\n`,
    },
  ];
}
