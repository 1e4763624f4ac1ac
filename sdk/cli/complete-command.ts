import type { Command, Option } from "commander";
import { ConfigError } from "../../bridge/errors.js";
import { listRuns } from "../find-run.js";
import { templates } from "../init/template.js";
import { exitCode } from "./exit.js";
import type { Output } from "./progress.js";

/** A word that could stand here, and what it does. */
interface Candidate {
  value: string;
  about: string;
}

/** The scripts' protocol: no candidate means the shell's own completion of files; 2 adds no blank behind a word. */
const directive = { files: ":0", noBlank: ":2" };

const shells = ["bash", "zsh", "fish"];

/** `genenv complete SHELL` prints a script; `genenv complete -- WORDS` is what that script asks, the last word unfinished. */
export async function completeCommand(
  program: Command,
  asked: string | readonly string[],
  { output, cwd = process.cwd() }: { output: Output; cwd?: string },
): Promise<number> {
  if (typeof asked === "string") await printScript(asked);
  else await answer(program, asked, output, cwd);
  return exitCode.done;
}

async function printScript(shell: string): Promise<void> {
  if (!shells.includes(shell)) {
    throw new ConfigError(`there is no completion for the shell ${JSON.stringify(shell)}`, {
      code: "bad-option",
      place: { at: "complete" },
      hint: `the shells are ${shells.join(", ")}`,
    });
  }
  const { script } = await import("@bomb.sh/tab");
  script(shell, "genenv", "genenv");
}

async function answer(
  program: Command,
  words: readonly string[],
  output: Output,
  cwd: string,
): Promise<void> {
  const own = await ownCandidates(program, words, cwd);
  if (own === null) {
    const { default: tab } = await import("@bomb.sh/tab/commander");
    const known = program.commands.filter((command) => command.name() !== "complete");
    const rest = program.createCommand("genenv").description(program.description());
    for (const command of known) rest.addCommand(command);
    tab(rest).parse([...words]);
    return;
  }
  const current = words.at(-1) ?? "";
  const lines = own
    .filter(({ value }) => value.startsWith(current))
    .map(({ value, about }) => `${value}\t${about}`);
  const goesOn = lines.length > 0 && lines.every((line) => /^\S*[.=]\t/.test(line));
  output.write(`${[...lines, goesOn ? directive.noBlank : directive.files].join("\n")}\n`);
}

/** Runs, configuration keys, templates, and places for files; null where command and option names are wanted. */
async function ownCandidates(
  program: Command,
  words: readonly string[],
  cwd: string,
): Promise<Candidate[] | null> {
  const command = program.commands.find((each) => each.name() === words[0]);
  const current = words.at(-1) ?? "";
  if (!command || words.length < 2) return null;
  const before = words.length > 2 ? optionNamed(command, words.at(-2) ?? "") : undefined;
  if (before?.required) return valuesOf(before, cwd);
  if (current.startsWith("-")) return null;
  const [argument] = command.registeredArguments;
  if (argument === undefined) return null;
  const what = argument.name();
  if (what === "run") return runs(cwd);
  return what === "config-and-overrides" ? keys(current) : [];
}

const optionNamed = (command: Command, flag: string): Option | undefined =>
  command.options.find(({ long, short }) => long === flag || short === flag);

function valuesOf(option: Option, cwd: string): Candidate[] | null {
  // The library knows an option's choices.
  if (option.argChoices) return null;
  if (option.long === "--template") {
    return Object.entries(templates).map(([value, about]) => ({ value, about }));
  }
  return option.long === "--model" || option.long === "--env-model" ? models(cwd) : [];
}

const runs = (cwd: string): Candidate[] =>
  listRuns(cwd).map(({ name }) => ({ value: name, about: "a run" }));

const models = (cwd: string): Candidate[] => [
  { value: "builtin:smollm2-135m", about: "the default model" },
  { value: "builtin:tiny", about: "a million parameters, for trying things out" },
  ...listRuns(cwd).map(({ name }) => ({ value: `runs/${name}`, about: "a run's agent" })),
];

/** Keys below what is written, one level at a time; none before a first letter, so that files come first. */
async function keys(current: string): Promise<Candidate[]> {
  if (current === "" || current.includes("=") || /[/~]/.test(current)) return [];
  const { allKeys } = await import("../config/keys.js");
  const level = current.split(".").length;
  const all = allKeys();
  const found = new Set(
    all
      .filter((key) => key.startsWith(current) && !all.some((other) => other.startsWith(`${key}.`)))
      .map((key) => {
        const parts = key.split(".");
        return parts.length > level ? `${parts.slice(0, level).join(".")}.` : `${key}=`;
      }),
  );
  return [...found].map((value) => ({ value, about: "a key of the configuration" }));
}
