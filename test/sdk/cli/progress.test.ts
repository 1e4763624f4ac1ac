import { describe, expect, test } from "vitest";
import { showProgress } from "../../../sdk/cli/progress.js";
import { newProgress, timeLeftMs, track } from "../../../sdk/cli/progress-state.js";
import { toSafeText } from "../../../sdk/cli/progress-text.js";
import { formatDuration } from "../../../sdk/duration.js";
import type { RunEvent } from "../../../sdk/run/events.js";

const phase = (
  epoch: number,
  name: "start" | "reward" | "epoch-end",
  detail: string | null = null,
): RunEvent => ({
  type: "phase",
  epoch,
  step: epoch,
  phase: name,
  role: null,
  detail,
});

const metrics = (
  epoch: number,
  name: "agent" | "environment" | "validation",
  values: Record<string, number>,
): RunEvent => ({ type: "metrics", epoch, step: epoch, phase: name, values });

/** One epoch's events. */
const epochEvents = (epoch: number): RunEvent[] => [
  phase(epoch, "reward"),
  metrics(epoch, "agent", { "agent/reward_mean": 0.25, "agent/success_rate": 0.25 }),
  metrics(epoch, "environment", {
    "env/reward_mean": 0.5,
    "env/valid_rate": 1,
    "tasks/generated": 8,
    "tasks/kept": 3,
    "tasks/pool": 12,
  }),
  phase(epoch, "epoch-end"),
];

describe("time left", () => {
  test("is the mean epoch times the epochs left", () => {
    let state = newProgress(5, 0);
    expect(timeLeftMs(state, 0)).toBeNull();
    state = track(state, phase(1, "reward"), 100_000);
    expect(timeLeftMs(state, 110_000)).toBeNull();
    for (const event of epochEvents(1)) state = track(state, event, 130_000);
    // One epoch took 30 s; four are left.
    expect(timeLeftMs(state, 130_000)).toBe(120_000);
    state = track(state, phase(2, "reward"), 130_000);
    expect(timeLeftMs(state, 140_000)).toBe(110_000);
    for (const event of epochEvents(2)) state = track(state, event, 140_000);
    // Two epochs took 40 s; three are left.
    expect(timeLeftMs(state, 140_000)).toBe(60_000);
  });

  test("is never below zero", () => {
    let state = track(newProgress(1, 0), phase(1, "reward"), 0);
    for (const event of epochEvents(1)) state = track(state, event, 10);
    expect(timeLeftMs(state, 99_999)).toBe(0);
  });
});

describe("without a terminal", () => {
  function shown(events: RunEvent[]): string[] {
    let text = "";
    let nowMs = 0;
    const output = { write: (part: string) => (text += part) };
    const progress = showProgress(output, 2, () => nowMs);
    for (const event of events) {
      nowMs += 1000;
      progress.show(event);
    }
    progress.end();
    return text.split("\n").slice(0, -1);
  }

  test("an epoch is one line", () => {
    expect(shown([...epochEvents(1), ...epochEvents(2)])).toEqual([
      "epoch 1/2 | agent 0.250 success 0.250 | env 0.500 valid 1.000 | new 8 kept 3 pool 12 | 3 s",
      "epoch 2/2 | agent 0.250 success 0.250 | env 0.500 valid 1.000 | new 8 kept 3 pool 12 | 4 s",
    ]);
  });

  test("validation, checkpoints, warnings and details are lines too", () => {
    expect(
      shown([
        phase(0, "start", "starting Ray"),
        metrics(0, "validation", { "val/success_rate": 0.125, "val/responses": 96 }),
        { type: "warning", epoch: 1, step: 1, code: "x", message: "look here" },
        { type: "checkpoint", epoch: 2, step: 2, path: "/run/c" },
        metrics(2, "validation", { "val/success_rate": 1 }),
      ]),
    ).toEqual([
      "  starting Ray",
      "validation before training: success 0.125 responses 96",
      "warning: look here",
      "saved /run/c",
      "validation after epoch 2: success 1.000",
    ]);
  });

  test("failures are counted by code on the epoch's line, and abstentions beside them", () => {
    const agent = (epoch: number, counts: Record<string, number>): RunEvent[] => [
      phase(epoch, "reward"),
      metrics(epoch, "agent", { "agent/reward_mean": 0.5, ...counts }),
      metrics(epoch, "environment", { "env/rejected/failed: threw": 1, "env/rejected/no-task": 3 }),
      phase(epoch, "epoch-end"),
    ];
    const counts = { "agent/failed/threw": 2, "agent/failed/timeout": 4, "agent/abstained": 9 };
    const [first, second] = shown([...agent(1, counts), ...agent(2, { "agent/abstained": 0 })]);
    expect(first).toMatch(/ \| failed timeout 4, threw 3 \| abstained 9 \| /);
    // A reason that is gone has no number of an earlier epoch.
    expect(second).toMatch(/ \| failed threw 1 \| /);
  });

  test("plain GRPO shows nothing of an environment", () => {
    const [line] = shown([
      phase(1, "reward"),
      metrics(1, "agent", { "agent/reward_mean": 0.5 }),
      phase(1, "epoch-end"),
    ]);
    expect(line).toBe("epoch 1/2 | agent 0.500 | 2 s");
  });
});

test("on a terminal the status line is cut to its width and cleared at the end", () => {
  const parts: string[] = [];
  const output = { write: (part: string) => parts.push(part), isTTY: true, columns: 20 };
  const progress = showProgress(output, 2, () => 0);
  progress.show(phase(1, "reward", null));
  expect(parts.at(-1)).toBe("\r\u001b[2Kepoch 1/2  |  rewa…");
  progress.end();
  expect(parts.at(-1)).toBe("\r\u001b[2K");
});

test("text from outside can't steer the terminal", () => {
  expect(toSafeText("a\u001b[31mred\u001b]0;title\u0007b\u0000\r\nc\td\u009b2J")).toBe(
    "ared]0;titleb\nc\td2J",
  );
});

test("durations read like words", () => {
  expect([0, 59_400, 60_000, 125_000, 3_900_000].map(formatDuration)).toEqual([
    "0 s",
    "59 s",
    "1 min 0 s",
    "2 min 5 s",
    "1 h 5 min",
  ]);
});
