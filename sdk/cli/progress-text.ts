import { formatDuration } from "../duration.js";
import type { RunEvent } from "../run/events.js";
import { failureCounts, type ProgressState, timeLeftMs } from "./progress-state.js";

// Terminal escapes and other control characters; a tab and a newline may stay.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const control = /\u001b\[[0-?]*[ -/]*[@-~]|[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Text from outside, harmless to a terminal. */
export const toSafeText = (text: string): string => text.replace(control, "");

/** The line that stays for an event; null for one that only moves the status. */
export function formatEvent(event: RunEvent, state: ProgressState, nowMs: number): string | null {
  switch (event.type) {
    case "phase":
      if (event.phase === "epoch-end") return epochLine(state, nowMs);
      return event.detail === null ? null : `  ${toSafeText(event.detail)}`;
    case "warning":
      return `warning: ${toSafeText(event.message)}`;
    case "checkpoint":
      return `saved ${event.path}`;
    case "metrics":
      return event.phase === "validation" ? validationLine(event.values, event.epoch) : null;
    default:
      return null;
  }
}

function validationLine(values: Record<string, number>, epoch: number): string {
  const when = epoch === 0 ? "before training" : `after epoch ${epoch}`;
  return `validation ${when}: ${numbers(values, [
    ["success", "val/success_rate"],
    ["reward", "val/reward_mean"],
    ["responses", "val/responses"],
  ])}`;
}

/** One line, of less than 100 columns where nothing failed. */
function epochLine(state: ProgressState, nowMs: number): string {
  const { values, epoch, totalEpochs } = state;
  const agent = numbers(values, [
    ["agent", "agent/reward_mean"],
    ["success", "agent/success_rate"],
  ]);
  const environment = numbers(values, [
    ["env", "env/reward_mean"],
    ["valid", "env/valid_rate"],
  ]);
  const tasks = numbers(values, [
    ["new", "tasks/generated"],
    ["kept", "tasks/kept"],
    ["pool", "tasks/pool"],
  ]);
  const [before = state.firstEpochMs ?? nowMs, end = nowMs] = state.epochEndsMs.slice(-2);
  const seconds =
    state.epochEndsMs.length > 1 ? end - before : before - (state.firstEpochMs ?? before);
  const parts = [
    `epoch ${epoch}/${totalEpochs}`,
    agent,
    environment,
    environment && tasks,
    failuresText(values),
    abstainedText(values),
    formatDuration(seconds),
  ];
  return parts.filter(Boolean).join(" | ");
}

/** The line that moves: phase, epoch, rewards, time gone and time left. */
export function formatStatus(state: ProgressState, nowMs: number): string {
  const left = timeLeftMs(state, nowMs);
  const rewards = numbers(state.values, [
    ["agent", "agent/reward_mean"],
    ["environment", "env/reward_mean"],
  ]);
  const parts = [
    state.epoch > 0 ? `epoch ${state.epoch}/${state.totalEpochs}` : null,
    state.detail === null ? state.phase : `${state.phase}: ${toSafeText(state.detail)}`,
    rewards && `reward ${rewards}`,
    failuresText(state.values),
    abstainedText(state.values),
    formatDuration(nowMs - state.startedMs),
    left === null ? null : `about ${formatDuration(left)} left`,
  ];
  return parts.filter(Boolean).join("  |  ");
}

function failuresText(values: Record<string, number>): string | null {
  const counts = failureCounts(values).map(([code, count]) => `${toSafeText(code)} ${count}`);
  return counts.length === 0 ? null : `failed ${counts.join(", ")}`;
}

function abstainedText(values: Record<string, number>): string | null {
  const count = values["agent/abstained"] ?? 0;
  return count === 0 ? null : `abstained ${count}`;
}

function numbers(values: Record<string, number>, names: [label: string, name: string][]): string {
  return names
    .flatMap(([label, name]) => {
      const value = values[name];
      return value === undefined ? [] : [`${label} ${formatNumber(name, value)}`];
    })
    .join(" ");
}

const isCount = (name: string): boolean => name.startsWith("tasks/") || name === "val/responses";

const formatNumber = (name: string, value: number): string =>
  isCount(name) ? String(value) : value.toFixed(3);
