import type { Command } from "commander";
import type { ExportArguments, RunArguments } from "./arguments.js";
import { leaveNow, runAction } from "./exit.js";

/** The commands on a run that is there: `resume` and `export`. */
export function addResumeCommands(program: Command): void {
  addResume(program);
  addExport(program);
}

function addResume(program: Command): void {
  program
    .command("resume")
    .description("go on with a run from its newest complete checkpoint")
    .argument("<run>", "the run's folder or name")
    .argument("[overrides...]", "key=value, of the keys that may change")
    .option("--debug", "show the stack of an error")
    .option("--json", "one JSON object a line, for programs")
    .addHelpText("after", resumeExamples)
    .action((run: string, overrides: string[], options: RunArguments) =>
      runAction(options, async () => {
        const { resumeCommand } = await import("./run-command.js");
        const { onInterrupt } = await import("./interrupt.js");
        const streams = { output: process.stdout, onInterrupt, leave: leaveNow };
        return resumeCommand(run, overrides, options, streams);
      }),
    );
}

function addExport(program: Command): void {
  program
    .command("export")
    .description("copy a trained model out of a run: a folder that transformers and vLLM load")
    .argument("<run>", "the run's folder or name")
    .requiredOption("--out <folder>", "where to; it must not be there yet")
    .option("--role <role>", "agent or environment", "agent")
    .option("--epoch <epoch>", "a checkpoint's epoch, or best (default: the newest)")
    .option("--debug", "show the stack of an error")
    .option("--json", "print what was copied as JSON")
    .addHelpText("after", "\nExample:\n  genenv export runs/first --role agent --out models/agent")
    .action((run: string, options: ExportArguments) =>
      runAction(options, async () => {
        const { exportCommand } = await import("./export-command.js");
        return exportCommand(run, options, { output: process.stdout });
      }),
    );
}

const resumeExamples = `
Examples:
  genenv resume runs/first
  genenv resume runs/first trainer.total_epochs=40        longer than it was to last`;
