import type { RunEvent } from "../run/events.js";
import { newProgress, type ProgressState, track } from "./progress-state.js";

/** What the live panel shows, beyond what every progress does. */
export interface LiveState {
  progress: ProgressState;
  agent: number[];
  environment: number[];
  validation: number[];
  /** Of the epoch that told its tasks last: success rates of generated tasks in tenths, and outcomes by reason. */
  tasksEpoch: number;
  rates: number[];
  outcomes: Map<string, number>;
  rejects: Map<string, number>;
  /** Of the last batch. */
  failures: Map<string, number>;
  abstained: number;
  tokensPerSecond: number | null;
  task: { prompt: string; groundTruth: string; successRate: number | null } | null;
}

const bins = 10;
const noRates = (): number[] => new Array<number>(bins).fill(0);

export function newLive(totalEpochs: number, nowMs: number): LiveState {
  return {
    progress: newProgress(totalEpochs, nowMs),
    agent: [],
    environment: [],
    validation: [],
    tasksEpoch: 0,
    rates: noRates(),
    outcomes: new Map(),
    rejects: new Map(),
    failures: new Map(),
    abstained: 0,
    tokensPerSecond: null,
    task: null,
  };
}

/** The state after an event that came at `nowMs`. */
export function trackLive(state: LiveState, event: RunEvent, nowMs: number): LiveState {
  const next = { ...state, progress: track(state.progress, event, nowMs) };
  if (event.type === "task") return withTask(next, event);
  if (event.type !== "metrics") return next;
  const { values } = event;
  if (event.phase === "validation")
    return { ...next, validation: add(next.validation, values["val/success_rate"]) };
  if (event.phase === "environment") {
    return {
      ...next,
      environment: add(next.environment, values["env/reward_mean"]),
      rejects: countsUnder(values, "env/rejected/"),
    };
  }
  return {
    ...next,
    agent: add(next.agent, values["agent/reward_mean"]),
    failures: countsUnder(values, "agent/failed/"),
    abstained: values["agent/abstained"] ?? 0,
    tokensPerSecond: speedOf(values) ?? next.tokensPerSecond,
  };
}

type TaskEvent = Extract<RunEvent, { type: "task" }>;

function withTask(state: LiveState, event: TaskEvent): LiveState {
  // Data has ids of its own; only an environment's task has one of this form.
  if (!/^e\d+-a/.test(event.id)) return state;
  const isNew = event.epoch !== state.tasksEpoch;
  const rates = isNew ? noRates() : [...state.rates];
  const outcomes = new Map(isNew ? [] : state.outcomes);
  if (event.successRate !== null) {
    const bin = Math.min(bins - 1, Math.floor(event.successRate * bins + 1e-9));
    rates[bin] = (rates[bin] ?? 0) + 1;
  }
  const outcome = event.kept ? "kept" : (event.reason ?? "dropped");
  outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  const { successRate } = event;
  const task = {
    prompt: toText(event.prompt),
    groundTruth: toText(event.groundTruth),
    successRate,
  };
  return { ...state, tasksEpoch: event.epoch, rates, outcomes, task };
}

const add = (curve: number[], value: number | undefined): number[] =>
  value === undefined ? curve : [...curve, value];

function countsUnder(values: Record<string, number>, prefix: string): Map<string, number> {
  return new Map(
    Object.entries(values)
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, value]) => [name.slice(prefix.length), value]),
  );
}

/** Response tokens over the seconds of the agent's rollout; null where a number is missing. */
function speedOf(values: Record<string, number>): number | null {
  const tokens = values["agent/response_tokens_mean"];
  const responses = values["agent/responses"];
  const seconds = values["timing_s/gen"];
  if (tokens === undefined || responses === undefined || !seconds) return null;
  return (tokens * responses) / seconds;
}

const toText = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "");
