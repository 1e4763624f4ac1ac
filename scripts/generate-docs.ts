// `npm run docs`: writes what is generated from the schema and the command line into the project.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { generatedFiles } from "./docs/pages.js";

const root = process.cwd();
for (const { path, text } of generatedFiles(root)) {
  writeFileSync(join(root, path), text);
  console.log(path);
}
