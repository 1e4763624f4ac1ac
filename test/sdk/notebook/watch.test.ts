import { parseHTML } from "linkedom/worker";
import { describe, expect, test, vi } from "vitest";
import { createDeferred } from "../../../bridge/python/deferred.js";
import { newLive, trackLive } from "../../../sdk/cli/live-state.js";
import { stopOnInterrupt } from "../../../sdk/notebook/interrupt.js";
import { panel, watch } from "../../../sdk/notebook/watch.js";
import type { RunEvent, RunResult } from "../../../sdk/run/events.js";
import type { Run } from "../../../sdk/run.js";
import { rejectionOf } from "../temp.js";

const done: RunResult = { epochs: 2, steps: 2, checkpoint: null, stopped: false, metrics: {} };
const agent = (epoch: number, reward: number): RunEvent => ({
  type: "metrics",
  epoch,
  step: epoch,
  phase: "agent",
  values: { "agent/reward_mean": reward },
});

/** A run that tells these events; `result` settles when it has been stopped, or with the events. */
function fakeRun(events: RunEvent[], end: Promise<RunResult>, onStop = () => {}): Run {
  return {
    name: "fake",
    dir: "/runs/fake",
    config: { verl: { agent: { trainer: { total_epochs: 2 } } } } as unknown as Run["config"],
    result: end,
    stop: async () => onStop(),
    async *[Symbol.asyncIterator]() {
      yield* events;
      await end;
    },
  };
}

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const textOf = (html: string): string =>
  parseHTML(`<html><body>${html}</body></html>`).document.body.textContent ?? "";

describe("watching a run", () => {
  test("draws into one display, and ends with how the run ended", async () => {
    const shown: string[] = [];
    const run = fakeRun([agent(1, 0.25), agent(2, 0.5)], Promise.resolve(done));
    const result = await watch(run, { html: (text) => void shown.push(text) });
    expect(result).toBe(done);
    expect(textOf(shown[0] ?? "")).toMatch(/^start · /);
    expect(textOf(shown.at(-1) ?? "")).toMatch(/^done after 2 epochs: \/runs\/fake/);
    expect(shown.at(-1)).toContain("<svg");
  });

  test("draws again while nothing is told", async () => {
    vi.useFakeTimers();
    const { promise, resolve } = createDeferred<RunResult>();
    const shown: string[] = [];
    const watched = watch(fakeRun([], promise), { html: (text) => void shown.push(text) });
    await vi.advanceTimersByTimeAsync(65_000);
    expect(textOf(shown.at(-1) ?? "")).toContain("1 min 5 s");
    resolve(done);
    await watched;
    const count = shown.length;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(shown).toHaveLength(count);
    vi.useRealTimers();
  });

  test("stops the run where the cell is interrupted, and says so in the same place", async () => {
    const { promise, resolve } = createDeferred<RunResult>();
    const shown: string[] = [];
    const before = process.listenerCount("SIGINT");
    const run = fakeRun([agent(1, 0.25)], promise, () =>
      resolve({ ...done, epochs: 1, stopped: true }),
    );
    const watched = watch(run, { html: (text) => void shown.push(text) });
    await tick();
    process.emit("SIGINT");
    expect((await watched).stopped).toBe(true);
    expect(textOf(shown.at(-1) ?? "")).toMatch(/^stopped after 1 epoch: /);
    expect(process.listenerCount("SIGINT")).toBe(before);
  });

  test("shows a failure and passes it on", async () => {
    const shown: string[] = [];
    const end = Promise.reject(new Error("the <b>reward</b> is wrong"));
    const error = await rejectionOf(
      watch(fakeRun([], end), { html: (text) => void shown.push(text) }),
    );
    expect(error.message).toBe("the <b>reward</b> is wrong");
    expect(textOf(shown.at(-1) ?? "")).toBe("failed: the <b>reward</b> is wrong");
  });
});

test("a loop of one's own is stopped by an interrupt too, until the run has ended", async () => {
  let stops = 0;
  const before = process.listenerCount("SIGINT");
  const stop = async (): Promise<void> => void stops++;
  const { promise, resolve } = createDeferred<null>();
  stopOnInterrupt({ result: promise, stop });
  // Not within the cell's first step: the kernel would be left without a handler.
  expect(process.listenerCount("SIGINT")).toBe(before);
  await tick();
  process.emit("SIGINT");
  resolve(null);
  await promise;
  await Promise.resolve();
  process.emit("SIGINT");
  expect(stops).toBe(1);
});

test("the panel keeps a model's task as text", () => {
  const state = trackLive(
    newLive(1, 0),
    {
      type: "task",
      epoch: 1,
      step: 1,
      id: "e1-a0-t0",
      prompt: "<script>alert(1)</script>",
      groundTruth: "<img src=x>",
      successRate: 0.5,
      reward: 1,
      kept: true,
      reason: "<i>kept</i>",
    },
    0,
  );
  const html = panel(state, 1000, null);
  expect(html).not.toMatch(/<script|<img|<i>/);
  expect(textOf(html)).toContain("<script>alert(1)</script>");
  expect(textOf(html)).toContain("kept");
});
