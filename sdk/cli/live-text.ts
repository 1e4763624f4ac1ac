import { formatDuration } from "../duration.js";
import type { LiveState } from "./live-state.js";
import { timeLeftMs } from "./progress-state.js";
import { toSafeText } from "./progress-text.js";

const blocks = "▁▂▃▄▅▆▇█";
const labelWidth = 20;
const bold = (text: string): string => `\u001b[1m${text}\u001b[22m`;
const dim = (text: string): string => `\u001b[2m${text}\u001b[22m`;
const green = (text: string): string => `\u001b[32m${text}\u001b[39m`;
const greenKept = (text: string): string => text.replace(/\bkept \d+/, green);
const yellow = (text: string): string => `\u001b[33m${text}\u001b[39m`;

/** The panel: phase and time, both curves, success rates, tasks, failures, speed, and the last task. */
export function formatPanel(state: LiveState, nowMs: number, columns: number): string {
  const width = Math.max(30, Math.min(columns, 110)) - 1;
  const room = width - labelWidth;
  const line = (label: string, text: string, paint = (plain: string): string => plain): string =>
    `${dim(label.padEnd(labelWidth + marksIn(label)))}${paint(cut(text, room))}`;
  const lines = [
    dim("─".repeat(width)),
    bold(cut(headline(state, nowMs), width)),
    curveLine("agent reward", state.agent, room, line),
    curveLine("environment reward", state.environment, room, line),
    curveLine("validation success", state.validation, room, line),
    state.tasksEpoch > 0
      ? line("success rates p̂", `0 ${sparkline(state.rates, 0)} 1   epoch ${state.tasksEpoch}`)
      : null,
    state.outcomes.size > 0 ? line("tasks", counts(state.outcomes), greenKept) : null,
    state.rejects.size > 0 ? line("rejected answers", counts(state.rejects), yellow) : null,
    state.failures.size > 0 ? line("failed", counts(state.failures), yellow) : null,
    state.abstained > 0 ? line("abstained", String(state.abstained)) : null,
    state.tokensPerSecond === null
      ? null
      : line("speed", `${Math.round(state.tokensPerSecond)} tokens a second`),
    state.task ? line("last task", oneLine(state.task.prompt)) : null,
    state.task ? line("its answer", answerOf(state.task)) : null,
  ];
  return lines.filter((text) => text !== null).join("\n");
}

function headline({ progress }: LiveState, nowMs: number): string {
  const { epoch, totalEpochs, phase, detail, startedMs } = progress;
  const left = timeLeftMs(progress, nowMs);
  return [
    epoch > 0 ? `epoch ${epoch}/${totalEpochs}` : null,
    detail === null ? phase : `${phase}: ${oneLine(detail)}`,
    formatDuration(nowMs - startedMs),
    left === null ? null : `about ${formatDuration(left)} left`,
  ]
    .filter((part) => part !== null)
    .join("  ·  ");
}

function curveLine(
  label: string,
  values: number[],
  room: number,
  line: (label: string, text: string) => string,
): string | null {
  const last = values.at(-1);
  if (last === undefined) return null;
  return line(label, `${last.toFixed(3)}  ${sparkline(values.slice(-(room - 7)))}`);
}

/** Values as block characters, the lowest of them (or `low`) to the highest. */
export function sparkline(values: readonly number[], low = Math.min(...values)): string {
  const high = Math.max(...values);
  const step = (high - low) / (blocks.length - 1);
  const blockOf = (value: number): string =>
    blocks[step === 0 ? 3 : Math.round((value - low) / step)] ?? "";
  return values.map((value) => (low === 0 && value === 0 ? " " : blockOf(value))).join("");
}

const counts = (by: ReadonlyMap<string, number>): string =>
  [...by]
    .sort((a, b) => b[1] - a[1])
    .map(([name, count]) => `${oneLine(name)} ${count}`)
    .join("  ");

function answerOf({ groundTruth, successRate }: NonNullable<LiveState["task"]>): string {
  const solved = successRate === null ? "" : `   (solved ${Math.round(successRate * 100)} %)`;
  return `${oneLine(groundTruth)}${solved}`;
}

// Marks that turn the direction of the text after them.
const directions = /[\u202a-\u202e\u2066-\u2069]/g;

/** Text from outside on one line of a terminal: no control characters, no line ends. */
const oneLine = (text: string): string =>
  toSafeText(text.replace(/\s+/g, " ").replace(directions, "")).trim();

/** Marks that stand on the letter before them, and take no room. */
const marksIn = (text: string): number => text.match(/\p{Mn}/gu)?.length ?? 0;

const cut = (text: string, width: number): string =>
  text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
