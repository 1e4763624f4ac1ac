import type { Command } from "commander";
import { withColumnOptions } from "./column-options.js";
import type { EvalArguments } from "./eval-command.js";
import { exitCode, runAction } from "./exit.js";
import type { GenerateArguments } from "./generate-command.js";
import { withModelOptions } from "./model-options.js";
import type { CommandStreams } from "./status-line.js";

/** `genenv eval`. */
export function addEval(program: Command): void {
  const command = program.command("eval").description("find how good a model is on a data file");
  withColumnOptions(withModelOptions(command, 8))
    .requiredOption("--data <file>", "problems: .parquet, .jsonl, .json or .csv")
    .requiredOption("--reward <reward>", "./reward.ts, ./hooks.ts#name or builtin:NAME")
    .option(
      "--out <file>",
      "JSONL that gets each problem; an evaluation goes on from what is there",
    )
    .option("--compare <model>", "evaluate this model too, and test whether the two differ")
    .addHelpText("after", evalExamples)
    .action((options: EvalArguments) =>
      runAction(options, async () => {
        const { evalCommand } = await import("./eval-command.js");
        return evalCommand(options, await commandStreams());
      }),
    );
}

/** `genenv generate`. */
export function addGenerate(program: Command): void {
  const collect = (text: string, before: string[]): string[] => [...before, text];
  withModelOptions(program.command("generate").description("give a model prompts"), 1)
    .option("--prompt <text>", "a prompt; can be given several times", collect, [])
    .option(
      "--in <file>",
      "a prompt a line; of a .jsonl, .json, .csv or .parquet file each row's prompt (a text or a chat)",
    )
    .option("--prompt-key <column>", "the prompts' column (default: prompt or question)")
    .option("--raw", "continue the texts as they are, without the model's chat template")
    .addHelpText(
      "after",
      '\nExample:\n  genenv generate --model runs/first --prompt "What is 3 + 4?" --n 4',
    )
    .action((options: GenerateArguments) =>
      runAction(options, async () => {
        const { generateCommand } = await import("./generate-command.js");
        return generateCommand(options, await commandStreams());
      }),
    );
}

async function commandStreams(): Promise<CommandStreams> {
  const { onInterrupt } = await import("./interrupt.js");
  const leave = (): never => process.exit(exitCode.failed);
  const status = process.stderr.isTTY ? process.stderr : null;
  return { output: process.stdout, status, onInterrupt, leave };
}

const evalExamples = `
Examples:
  genenv eval --model runs/first --data val.parquet --reward ./reward.ts
  genenv eval --model builtin:smollm2-135m --compare runs/first --data val.parquet --reward builtin:math --json`;
