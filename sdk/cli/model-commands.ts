import type { Command } from "commander";
import { withColumnOptions } from "./column-options.js";
import type { EvalArguments } from "./eval-command.js";
import { exitCode, leaveNow, runAction } from "./exit.js";
import type { GenerateArguments } from "./generate-command.js";
import { toCount, withModelOptions } from "./model-options.js";
import type { ScoreArguments } from "./score-command.js";
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

const scoreExamples = `
Examples:
  genenv score --reward ./reward.ts --in cases.jsonl
  genenv score --reward builtin:math --in cases.parquet --out scores.jsonl
  genenv score --reward ./reward.ts --in cases.jsonl --watch      again at each save
  genenv score --run runs/first --reward ./reward.ts              a changed reward on a run's own responses`;

/** `genenv score`. */
export function addScore(program: Command): void {
  program
    .command("score")
    .description("run a reward on recorded responses: no Python, no model")
    .option(
      "--reward <reward>",
      "./reward.ts, ./hooks.ts#name or builtin:NAME (default: the run's)",
    )
    .option("--in <file>", "Parquet, JSONL, JSON or CSV with response and ground_truth")
    .option("--run <run>", "a run's stored responses instead, and which of their scores change")
    .option("--out <file>", "a row each: score, or why there is none (.jsonl or .parquet)")
    .option("--watch", "score again whenever the reward or the file is saved")
    .option("--timeout-ms <ms>", "deadline of a sample (default: the run's, 5000)", toCount)
    .option("--concurrency <count>", "samples of an async reward at once (default: 16)", toCount)
    .option("--json", "one JSON object, for programs")
    .option("--debug", "show the stack of an error")
    .addHelpText(
      "after",
      `${scoreExamples}\n\nIt leaves with ${exitCode.failed} where a sample failed.`,
    )
    .action((options: ScoreArguments) =>
      runAction(options, async () => {
        const { scoreCommand } = await import("./score-command.js");
        return scoreCommand(options, await commandStreams());
      }),
    );
}

/** The terminal's, and Ctrl-C's. */
export async function commandStreams(): Promise<CommandStreams> {
  const { onInterrupt } = await import("./interrupt.js");
  const status = process.stderr.isTTY ? process.stderr : null;
  return { output: process.stdout, status, onInterrupt, leave: leaveNow };
}

const evalExamples = `
Examples:
  genenv eval --model runs/first --data val.parquet --reward ./reward.ts
  genenv eval --model builtin:smollm2-135m --compare runs/first --data val.parquet --reward builtin:math --json`;
