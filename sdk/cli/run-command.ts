import { resolveConfig } from "../config/resolve.js";
import { formatDuration } from "../duration.js";
import { findRun } from "../find-run.js";
import type { RunEvent, RunResult } from "../run/events.js";
import type { RunParts } from "../run/parts.js";
import { resumeConfig } from "../run/resume.js";
import { totalEpochs } from "../run/total-epochs.js";
import { type Run, startRun } from "../run.js";
import { type RunArguments, splitArguments } from "./arguments.js";
import { exitCode } from "./exit.js";
import { type Output, type Progress, showProgress } from "./progress.js";

// A rollout is given up at once; an update under way is finished and saved, which a large model takes a while for.
const stopWithinMs = 90_000;

export interface RunStreams {
  output: Output;
  /** Calls back on each Ctrl-C (or termination); returns how to stop listening. */
  onInterrupt(listener: () => void): () => void;
  /** Ends this process at once. */
  leave(): void;
  parts?: RunParts;
  /** Relative paths and runs/ start here. Default: the process's folder. */
  cwd?: string;
}

/** `genenv run`: trains, shows progress, and gives the exit code. */
export async function runCommand(
  args: readonly string[],
  options: RunArguments,
  streams: RunStreams,
): Promise<number> {
  const { model, envModel, name } = options;
  const { cwd } = streams;
  const config = resolveConfig({ ...splitArguments(args), model, envModel, name, cwd });
  return follow(startRun(config, { parts: streams.parts }), options, streams);
}

/** `genenv resume`: goes on with a run, shows progress, and gives the exit code. */
export async function resumeCommand(
  runDir: string,
  overrides: readonly string[],
  options: { json?: boolean },
  streams: RunStreams,
): Promise<number> {
  const config = resumeConfig(findRun(runDir, streams.cwd).dir, { overrides, cwd: streams.cwd });
  return follow(startRun(config, { parts: streams.parts }), options, streams);
}

async function follow(run: Run, options: { json?: boolean }, streams: RunStreams): Promise<number> {
  const show = options.json ? jsonProgress(streams.output) : await panel(run, streams.output);
  const startedMs = Date.now();
  const release = streams.onInterrupt(interrupter(run, show, streams));
  try {
    for await (const event of run) show.show(event);
    const result = await run.result;
    show.end();
    if (options.json) streams.output.write(`${JSON.stringify({ type: "result", ...result })}\n`);
    else streams.output.write(`${summary(run, result, Date.now() - startedMs)}\n`);
    return result.stopped ? exitCode.failed : exitCode.done;
  } finally {
    show.end();
    release();
  }
}

function interrupter(run: Run, show: Progress, streams: RunStreams): () => void {
  let count = 0;
  return () => {
    count += 1;
    if (count > 1) {
      show.end();
      streams.leave();
      return;
    }
    show.say("stopping: the run is saved and ended (Ctrl-C again leaves at once)");
    void run.stop({ withinMs: stopWithinMs });
  };
}

async function panel(run: Run, output: Output): Promise<Progress> {
  const total = totalEpochs(run.config);
  output.write(`run ${run.name} in ${run.dir}\n`);
  const { showPanel, suitsPanel } = await import("./live.js");
  if (output === process.stdout && suitsPanel(output, process.env)) {
    return showPanel(process.stdout, total);
  }
  return showProgress(process.env.CI ? { write: (text) => output.write(text) } : output, total);
}

function jsonProgress(output: Output): Progress {
  return {
    show: (event: RunEvent) => output.write(`${JSON.stringify(event)}\n`),
    say: () => {},
    end: () => {},
  };
}

function summary(run: Run, result: RunResult, ms: number): string {
  const state = result.stopped ? "stopped" : "done";
  const checkpoint = result.checkpoint ? `\n  checkpoint ${result.checkpoint}` : "";
  return `${state}: ${result.epochs} epochs in ${formatDuration(ms)}\n  run ${run.dir}${checkpoint}`;
}
