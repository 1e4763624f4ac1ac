import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { ConfigError } from "../../bridge/errors.js";
import { packageRoot } from "../../bridge/python/paths.js";
import {
  existing,
  isTemplate,
  type ProjectFiles,
  projectFiles,
  type TemplateName,
  templates,
} from "../init/template.js";
import { exitCode } from "./exit.js";
import type { Output } from "./progress.js";

export interface InitArguments {
  template?: string;
  json?: boolean;
  debug?: boolean;
}

export interface InitStreams {
  output: Output;
  /** Asks a question on the terminal; null where there is none, and nothing is asked. */
  ask: ((question: string) => Promise<string>) | null;
  cwd?: string;
}

/** `genenv init`: writes a new project from a template; no file is ever written over. */
export async function initCommand(
  folder: string | undefined,
  options: InitArguments,
  streams: InitStreams,
): Promise<number> {
  const { output, ask, cwd = process.cwd() } = streams;
  const template = await chooseTemplate(options.template, output, ask);
  const target = resolve(cwd, folder ?? (await ask?.("folder (default: this one): ")) ?? ".");
  const files = projectFiles(template, target, packageRoot());
  const { inTheWay, kept } = existing(files, target);
  if (inTheWay.length > 0) throw inTheWayError(target, inTheWay);
  for (const name of kept) files.delete(name);
  writeFiles(files, target);
  const written = [...files.keys()].sort();
  output.write(
    options.json
      ? `${JSON.stringify({ type: "project", folder: target, template, written, kept })}\n`
      : summary({ folder: relative(cwd, target) || ".", template, written, kept }),
  );
  return exitCode.done;
}

async function chooseTemplate(
  given: string | undefined,
  output: Output,
  ask: InitStreams["ask"],
): Promise<TemplateName> {
  const name = given ?? (ask ? await askTemplate(output, ask) : "arithmetic");
  if (isTemplate(name)) return name;
  throw new ConfigError(`there is no template ${JSON.stringify(name)}`, {
    code: "unknown-template",
    place: { at: "--template" },
    hint: `the templates are ${Object.keys(templates).join(", ")}`,
  });
}

async function askTemplate(
  output: Output,
  ask: (question: string) => Promise<string>,
): Promise<string> {
  const names = Object.entries(templates);
  names.forEach(([name, does], index) => {
    output.write(`  ${index + 1}  ${name.padEnd(13)} ${does}\n`);
  });
  const answer = (await ask("template (default: 1): ")).trim() || "1";
  return names[Number(answer) - 1]?.[0] ?? answer;
}

function inTheWayError(folder: string, names: string[]): ConfigError {
  const more = names.length > 3 ? ` and ${names.length - 3} more` : "";
  return new ConfigError(`${folder} has ${names.slice(0, 3).join(", ")}${more} already`, {
    code: "file-exists",
    place: { file: folder },
    hint: "give another folder, or move these files: nothing is written over",
  });
}

function writeFiles(files: ProjectFiles, folder: string): void {
  for (const [name, content] of files) {
    const file = join(folder, name);
    mkdirSync(dirname(file), { recursive: true });
    // wx: not even a file that came in between is written over.
    writeFileSync(file, content, { flag: "wx" });
  }
}

interface Written {
  folder: string;
  template: TemplateName;
  written: string[];
  kept: string[];
}

function summary({ folder, template, written, kept }: Written): string {
  const enter = folder === "." ? "" : `cd ${folder} && `;
  const keptLine =
    kept.length > 0
      ? `  kept ${kept.join(", ")} as they are: the project needs "type": "module", genenv, zod, and vitest and typescript to develop\n`
      : "";
  return [
    `wrote ${written.length} files from the template ${template}\n`,
    keptLine,
    `next: ${enter}npm install\n`,
    "  npm test              the reward's own tests\n",
    "  npx genenv check      finds what is wrong, and starts nothing\n",
    "  npx genenv run        trains on this machine's CPU\n",
  ].join("");
}
