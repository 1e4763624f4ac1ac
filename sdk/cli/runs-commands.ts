import type { Command } from "commander";
import { exitCode, runAction } from "./exit.js";
import type { ReportArguments } from "./report-command.js";

interface Shared {
  json?: boolean;
  debug?: boolean;
}

/** The commands that look at runs, and at this machine. */
export function addRunsCommands(program: Command): void {
  addReport(program);
  addLs(program);
  addStatus(program);
  addLogs(program);
  addStop(program);
  addDoctor(program);
}

function addReport(program: Command): void {
  shared(program.command("report").description("write a run's report: one page, all inside"))
    .argument("<run...>", "names in runs/, or folders; several are laid over each other")
    .option("--out <file>", "where to (default: report.html in the first run's folder)")
    .option("--open <when>", "show it in the browser: yes, no or auto", "auto")
    .addHelpText(
      "after",
      "\nExamples:\n  genenv report first\n  genenv report first second --out both.html",
    )
    .action((names: string[], options: ReportArguments) =>
      runAction(options, async () => {
        const { reportCommand } = await import("./report-command.js");
        return reportCommand(names, options, { output: process.stdout });
      }),
    );
}

function addLs(program: Command): void {
  shared(program.command("ls").description("list the runs in runs/: state, epoch, success"))
    .addHelpText("after", "\nExample:\n  genenv ls --json")
    .action((options: Shared) =>
      runAction(options, async () => {
        const { lsCommand } = await import("./ls-command.js");
        return lsCommand(options, { output: process.stdout });
      }),
    );
}

function addStatus(program: Command): void {
  shared(program.command("status").description("tell how a run stands, also while it runs"))
    .argument("[run]", "its name or folder (default: the one that wrote last)")
    .addHelpText("after", "\nExamples:\n  genenv status\n  genenv status first --json")
    .action((name: string | undefined, options: Shared) =>
      runAction(options, async () => {
        const { statusCommand } = await import("./ls-command.js");
        return statusCommand(name ?? null, options, { output: process.stdout });
      }),
    );
}

function addLogs(program: Command): void {
  program
    .command("logs")
    .description("print the end of a run's logs: hooks, Python, and each model's process")
    .argument("<run>", "its name or folder")
    .option("-f, --follow", "go on as they grow, until the run ends or Ctrl-C")
    .option("-n, --lines <count>", "lines of each log at first", "20")
    .option("--debug", "show the stack of an error")
    .addHelpText("after", "\nExample:\n  genenv logs first -f")
    .action((name: string, options: { follow?: boolean; lines: string; debug?: boolean }) =>
      runAction(options, async () => {
        const { logsCommand } = await import("./logs-command.js");
        const { onInterrupt } = await import("./interrupt.js");
        return logsCommand(name, options, { output: process.stdout, onInterrupt });
      }),
    );
}

function addStop(program: Command): void {
  shared(
    program
      .command("stop")
      .description("ask a run to end after the step under way, with all saved"),
  )
    .argument("<run>", "its name or folder")
    .addHelpText("after", "\nExample:\n  genenv stop first")
    .action((name: string, options: Shared) =>
      runAction(options, async () => {
        const { stopCommand } = await import("./stop-command.js");
        return stopCommand(name, options, { output: process.stdout });
      }),
    );
}

function addDoctor(program: Command): void {
  shared(program.command("doctor").description("look at what a run needs of this machine"))
    .addHelpText(
      "after",
      `\nIt leaves with ${exitCode.failed} where something stops every run.\n\nExample:\n  genenv doctor --json`,
    )
    .action((options: Shared) =>
      runAction(options, async () => {
        const { doctorCommand } = await import("./doctor-command.js");
        return doctorCommand(options, { output: process.stdout });
      }),
    );
}

function shared(command: Command): Command {
  return command
    .option("--json", "print JSON, for programs")
    .option("--debug", "show the stack of an error");
}
