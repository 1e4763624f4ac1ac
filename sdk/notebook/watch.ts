import { type LiveState, newLive, trackLive } from "../cli/live-state.js";
import { timeLeftMs } from "../cli/progress-state.js";
import { formatDuration } from "../duration.js";
import type { RunResult } from "../run/events.js";
import { totalEpochs } from "../run/total-epochs.js";
import type { Run } from "../run.js";
import { escapeHtml } from "./html.js";
import { stopOnInterrupt } from "./interrupt.js";
import { curves, histogram } from "./plots.js";
import { table } from "./table.js";

/** A place in a notebook that can be written again: tslab's `newDisplay()`. */
export interface Display {
  html(text: string): void;
}

const paceMs = 500;

/**
 * Shows a run in one place of a notebook, redrawn as it goes on: phase and time, curves, success rates, outcomes, the last
 * task. Resolves or rejects as `run.result` does; an interrupted cell stops the run with everything saved.
 */
export async function watch(run: Run, display: Display): Promise<RunResult> {
  stopOnInterrupt(run);
  const total = totalEpochs(run.config);
  let state = newLive(total, Date.now());
  let end: string | null = null;
  const draw = (): void => display.html(panel(state, Date.now(), end));
  const timer = setInterval(draw, paceMs);
  draw();
  try {
    for await (const event of run) state = trackLive(state, event, Date.now());
    const result = await run.result;
    end = `${result.stopped ? "stopped" : "done"} after ${count(result.epochs, "epoch")}: ${run.dir}`;
    return result;
  } catch (error) {
    end = `failed: ${error instanceof Error ? error.message : String(error)}`;
    throw error;
  } finally {
    clearInterval(timer);
    draw();
  }
}

/** The panel as HTML; `end` says how the run ended, null while it goes on. */
export function panel(state: LiveState, nowMs: number, end: string | null): string {
  const parts = [`<p><strong>${escapeHtml(headline(state, nowMs, end))}</strong></p>`];
  const { agent, environment, validation, rates, task } = state;
  if (agent.length > 0) {
    parts.push(curves({ "agent reward": agent, "environment reward": environment }));
  }
  if (validation.length > 0) {
    parts.push(
      `<p>validation success: ${validation.map((value) => value.toFixed(3)).join(", ")}</p>`,
    );
  }
  if (state.tasksEpoch > 0) {
    const middles = rates.flatMap((many, bin) =>
      new Array<number>(many).fill((bin + 0.5) / rates.length),
    );
    const title = `success rates of the environment's tasks, epoch ${state.tasksEpoch}`;
    parts.push(histogram(middles, { title, domain: [0, 1] }));
  }
  const counts = {
    ...named(state.outcomes),
    ...named(state.rejects, "rejected: "),
    ...named(state.failures, "failed: "),
    ...(state.abstained > 0 ? named(new Map([["abstained", state.abstained]])) : []),
  };
  if (Object.keys(counts).length > 0) parts.push(table([counts]));
  if (task) {
    parts.push(
      table([
        { "last task": task.prompt, "its answer": task.groundTruth, solved: task.successRate },
      ]),
    );
  }
  return parts.join("");
}

function headline({ progress }: LiveState, nowMs: number, end: string | null): string {
  if (end !== null) return end;
  const { epoch, totalEpochs, phase, detail, startedMs } = progress;
  const left = timeLeftMs(progress, nowMs);
  return [
    epoch > 0 ? `epoch ${epoch}/${totalEpochs}` : null,
    detail === null ? phase : `${phase}: ${detail}`,
    formatDuration(nowMs - startedMs),
    left === null ? null : `about ${formatDuration(left)} left`,
  ]
    .filter((part) => part !== null)
    .join(" · ");
}

const named = (by: ReadonlyMap<string, number>, before = ""): Record<string, number> =>
  Object.fromEntries([...by].map(([name, many]) => [`${before}${name}`, many]));

const count = (many: number, what: string): string => `${many} ${what}${many === 1 ? "" : "s"}`;
