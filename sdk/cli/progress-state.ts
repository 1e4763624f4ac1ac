import type { RunEvent } from "../run/events.js";

/** Where a run is, as far as its events tell. Numbers are the latest ones under their names. */
export interface ProgressState {
  totalEpochs: number;
  startedMs: number;
  epoch: number;
  step: number;
  phase: string;
  detail: string | null;
  values: Record<string, number>;
  /** When the epochs began and ended that took a whole step; for the time left. */
  epochEndsMs: number[];
  firstEpochMs: number | null;
}

export function newProgress(totalEpochs: number, nowMs: number): ProgressState {
  return {
    totalEpochs,
    startedMs: nowMs,
    epoch: 0,
    step: 0,
    phase: "start",
    detail: null,
    values: {},
    epochEndsMs: [],
    firstEpochMs: null,
  };
}

/** The state after an event that came at `nowMs`. */
export function track(state: ProgressState, event: RunEvent, nowMs: number): ProgressState {
  const next = { ...state, epoch: event.epoch, step: event.step };
  if (event.type === "phase") {
    const begins = event.epoch > 0 && state.firstEpochMs === null;
    const firstEpochMs = begins ? nowMs : state.firstEpochMs;
    const ends = event.phase === "epoch-end" ? [...state.epochEndsMs, nowMs] : state.epochEndsMs;
    return { ...next, phase: event.phase, detail: event.detail, firstEpochMs, epochEndsMs: ends };
  }
  if (event.type !== "metrics") return next;
  return { ...next, values: { ...withoutCounts(state.values, event.phase), ...event.values } };
}

const countsOf = {
  agent: ["agent/failed/"],
  environment: ["env/rejected/"],
  validation: ["val/failed/"],
};

/** Without the counts by reason, which tell of one batch each: a reason that is gone has no number any more. */
function withoutCounts(
  values: Record<string, number>,
  phase: keyof typeof countsOf,
): Record<string, number> {
  const names = Object.entries(values).filter(
    ([name]) => !countsOf[phase].some((prefix) => name.startsWith(prefix)),
  );
  return Object.fromEntries(names);
}

/** How many of the last batch's calls failed, by code. */
export function failureCounts(values: Record<string, number>): [code: string, count: number][] {
  const counts = new Map<string, number>();
  for (const [name, count] of Object.entries(values)) {
    const [, code] = /^(?:agent\/failed\/|env\/rejected\/failed: )(.+)$/.exec(name) ?? [];
    if (code === undefined) continue;
    counts.set(code, (counts.get(code) ?? 0) + count);
  }
  return [...counts].sort(([, a], [, b]) => b - a);
}

/** Milliseconds until the last epoch ends, by the mean epoch so far; null before the first has ended. */
export function timeLeftMs(state: ProgressState, nowMs: number): number | null {
  const lastMs = state.epochEndsMs.at(-1);
  if (lastMs === undefined || state.firstEpochMs === null) return null;
  const meanMs = (lastMs - state.firstEpochMs) / state.epochEndsMs.length;
  const epochsLeft =
    state.totalEpochs - state.epoch + (state.epoch > 0 && !isBetween(state) ? 1 : 0);
  return Math.max(0, epochsLeft * meanMs - Math.max(0, nowMs - lastMs));
}

// Between an epoch's last metrics and the next epoch's first phase.
function isBetween(state: ProgressState): boolean {
  return state.epochEndsMs.length >= state.epoch;
}
