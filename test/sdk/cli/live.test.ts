import { describe, expect, test } from "vitest";
import { suitsPanel } from "../../../sdk/cli/live.js";
import { newLive, trackLive } from "../../../sdk/cli/live-state.js";
import { formatPanel, sparkline } from "../../../sdk/cli/live-text.js";
import { toSafeText } from "../../../sdk/cli/progress-text.js";
import type { RunEvent } from "../../../sdk/run/events.js";

const task = (id: string, epoch: number, values: object): RunEvent => ({
  type: "task",
  epoch,
  step: epoch,
  id,
  prompt: "What is 2 + 3?",
  groundTruth: '"5"',
  successRate: 0.25,
  reward: 0.7,
  kept: true,
  reason: "kept",
  ...values,
});

const metrics = (
  phase: "agent" | "environment" | "validation",
  values: Record<string, number>,
): RunEvent => ({ type: "metrics", epoch: 1, step: 1, phase, values });

function panelAfter(events: RunEvent[], columns = 80): string[] {
  let state = newLive(8, 0);
  for (const event of events) state = trackLive(state, event, 1000);
  return toSafeText(formatPanel(state, 65_000, columns).replaceAll("\n", "\t")).split("\t");
}

describe("the live panel", () => {
  test("shows curves, success rates, outcomes, failures, speed and the last task", () => {
    const lines = panelAfter([
      metrics("validation", { "val/success_rate": 0.125 }),
      metrics("agent", {
        "agent/reward_mean": 0.25,
        "agent/failed/timeout": 2,
        "agent/abstained": 3,
        "agent/response_tokens_mean": 20,
        "agent/responses": 64,
        "timing_s/gen": 10,
      }),
      metrics("environment", { "env/reward_mean": 0.5, "env/rejected/no-sum": 3 }),
      task("seed-1", 1, { successRate: 1 }),
      task("e1-a0-t0", 1, {}),
      task("e1-a1-t0", 1, { successRate: 0, kept: false, reason: "too-hard" }),
    ]);
    expect(lines.slice(1)).toEqual([
      "epoch 1/8  ·  start  ·  1 min 5 s",
      "agent reward        0.250  ▄",
      "environment reward  0.500  ▄",
      "validation success  0.125  ▄",
      "success rates p̂     0 █ █        1   epoch 1",
      "tasks               kept 1  too-hard 1",
      "rejected answers    no-sum 3",
      "failed              timeout 2",
      "abstained           3",
      "speed               128 tokens a second",
      "last task           What is 2 + 3?",
      'its answer          "5"   (solved 0 %)',
    ]);
  });

  test("takes control characters and line ends out of what a model wrote, and cuts it to the width", () => {
    const prompt = `\u001b[2J\u001b]0;title\u0007one\ntwo\r${"x".repeat(200)}`;
    const text = formatPanel(trackLive(newLive(1, 0), task("e1-a0-t0", 1, { prompt }), 0), 0, 60);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: only the panel's own colours may be there
    expect(text.replace(/\u001b\[\d+m/g, "")).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
    const line = panelAfter([task("e1-a0-t0", 1, { prompt })], 60).find((found) =>
      found.startsWith("last task"),
    );
    expect(line).toMatch(/one two x+…$/);
    expect(line?.length).toBe(59);
  });

  test("before anything has come is phase and time alone", () => {
    expect(panelAfter([]).slice(1)).toEqual(["start  ·  1 min 5 s"]);
  });

  test("forgets an epoch's tasks when the next one's come", () => {
    const lines = panelAfter([
      task("e1-a0-t0", 1, {}),
      task("e2-a0-t0", 2, { kept: false, reason: null }),
    ]);
    expect(lines).toContain("tasks               dropped 1");
  });
});

describe("a sparkline", () => {
  test("goes from the lowest value to the highest", () => {
    expect(sparkline([0.1, 0.2, 0.8])).toBe("▁▂█");
  });
  test("of equal values is level", () => {
    expect(sparkline([2, 2])).toBe("▄▄");
  });
  test("of counts leaves none blank", () => {
    expect(sparkline([0, 1, 7], 0)).toBe(" ▂█");
  });
});

test("a panel is for a terminal, not for CI, NO_COLOR or a dumb one", () => {
  expect(suitsPanel({ isTTY: true }, {})).toBe(true);
  for (const env of [{ CI: "1" }, { NO_COLOR: "1" }, { TERM: "dumb" }]) {
    expect(suitsPanel({ isTTY: true }, env)).toBe(false);
  }
  expect(suitsPanel({}, {})).toBe(false);
});
