import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Command, CommanderError } from "commander";
import { packageRoot } from "../../bridge/python/paths.js";
import type { RunArguments } from "./arguments.js";
import { exitCode, leaveNow, runAction } from "./exit.js";
import { addEval, addGenerate, addScore } from "./model-commands.js";
import { addData, addInit, addNotebook } from "./project-commands.js";
import { addResumeCommands } from "./resume-commands.js";
import { addRunsCommands } from "./runs-commands.js";

/** The command line. What a command needs is loaded when it runs: help answers at once. */
export function createProgram(): Command {
  const program = new Command("genenv")
    .description(
      "Train an agent and an environment model against each other: hooks in TypeScript, training in veRL and vLLM.",
    )
    .version(version(), "-v, --version")
    .exitOverride()
    .showHelpAfterError("(genenv --help shows what there is)");
  addRun(program);
  addResumeCommands(program);
  addCheck(program);
  addData(program);
  addInit(program);
  addEval(program);
  addGenerate(program);
  addScore(program);
  addNotebook(program);
  addRunsCommands(program);
  addComplete(program);
  program
    .command("setup")
    .description("make or mend the Python environment that runs use")
    .option("--gpu", "the packages for NVIDIA GPUs (CUDA 13) instead of those for a CPU")
    .option("--json", "print only where everything is, as JSON")
    .option("--debug", "show the stack of an error")
    .addHelpText("after", setupExamples)
    .action((options: { debug?: boolean; json?: boolean; gpu?: boolean }) =>
      runAction(options, async () => {
        const { setupCommand } = await import("./setup-command.js");
        const { json = false, gpu = false } = options;
        return setupCommand({ output: process.stdout, json, gpu });
      }),
    );
  return program;
}

const setupExamples = `
Examples:
  genenv setup
  genenv setup --gpu`;

function addComplete(program: Command): void {
  program
    .command("complete")
    .description("print a shell's completion script")
    .argument(
      "<shell>",
      "bash, zsh or fish; after -- the words of a command line, as that script asks",
    )
    .argument("[words...]")
    .addHelpText("after", completeExamples)
    .action((first: string, words: string[]) =>
      runAction({}, async () => {
        const { completeCommand } = await import("./complete-command.js");
        const { rawArgs } = program as Command & { rawArgs: readonly string[] };
        const asked = rawArgs.includes("--") ? [first, ...words] : null;
        return completeCommand(createProgram(), asked ?? first, { output: process.stdout });
      }),
    );
}

const completeExamples = `
Examples:
  source <(genenv complete bash)                                  in ~/.bashrc
  source <(genenv complete zsh)                                   in ~/.zshrc, after compinit
  genenv complete fish > ~/.config/fish/completions/genenv.fish`;

function addRun(program: Command): void {
  withRunOptions(program.command("run").description("train both models"))
    .addHelpText("after", runExamples)
    .action((args: string[], options: RunArguments) =>
      runAction(options, async () => {
        const { runCommand } = await import("./run-command.js");
        const { onInterrupt } = await import("./interrupt.js");
        return runCommand(args, options, { output: process.stdout, onInterrupt, leave: leaveNow });
      }),
    );
}

function addCheck(program: Command): void {
  withRunOptions(
    program.command("check").description("find what is wrong with a run, without starting it"),
  )
    .addHelpText("after", "\nExample:\n  genenv check my.yaml genenv.alpha=0.4")
    .action((args: string[], options: RunArguments) =>
      runAction(options, async () => {
        const { checkCommand } = await import("./check-command.js");
        return checkCommand(args, options, { output: process.stdout });
      }),
    );
}

function withRunOptions(command: Command): Command {
  return command
    .argument(
      "[config-and-overrides...]",
      "a YAML file (default: configs/genenv_config.yaml), then key=value",
    )
    .option("--model <model>", "the agent's model: a folder, a hub id or builtin:NAME")
    .option(
      "--env-model <model>",
      'the environment\'s model, or "agent" for one model in both roles',
    )
    .option("--name <name>", "the run's name (default: date and time)")
    .option("--debug", "show the stack of an error")
    .option("--json", "one JSON object a line, for programs");
}

const runExamples = `
Examples:
  genenv run                                      the default run: SmolLM2-135M learns one-digit sums
  genenv run my.yaml --name first
  genenv run my.yaml genenv.alpha=0.4 actor_rollout_ref.actor.optim.lr=1e-5
  genenv run genenv.enable=False                  plain GRPO on the same data
  genenv run +actor_rollout_ref.rollout.new_key=1         a key that veRL's own configuration lacks`;

function version(): string {
  const text = readFileSync(join(packageRoot(), "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

/** Runs the command line and sets the exit code; usage errors are 2. */
export async function runProgram(argv: readonly string[]): Promise<void> {
  try {
    await createProgram().parseAsync(argv);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // Help and version end here too, with 0.
    process.exitCode = error.exitCode === 0 ? exitCode.done : exitCode.usage;
  }
}
