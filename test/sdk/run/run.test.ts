import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { HookError, PythonError } from "../../../bridge/errors.js";
import { resolveConfig } from "../../../sdk/config/resolve.js";
import { readDataFile } from "../../../sdk/data/read.js";
import { defineReward } from "../../../sdk/define.js";
import type { RunEvent } from "../../../sdk/run/events.js";
import { type Run, startRun } from "../../../sdk/run.js";
import { rejectionOf } from "../temp.js";
import { type fakeJobs, fakeParts, fakeResult } from "./fake-parts.js";
import { tempProject } from "./project.js";

type Parts = ReturnType<typeof fakeParts>;

async function start(
  parts: Parts,
  overrides: string[] = [],
  options: Parameters<typeof startRun>[1] = {},
): Promise<Run> {
  const cwd = await tempProject();
  return startRun(resolveConfig({ config: "my.yaml", cwd, name: "one", overrides }), {
    parts,
    ...options,
  });
}

async function eventsOf(run: Run): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const event of run) events.push(event);
  return events;
}

/** A job that ends when it is asked to stop, with `result`. */
const untilStopped =
  (result: unknown): (typeof fakeJobs)[string] =>
  (_params, { signal }) =>
    new Promise((resolve) => signal?.addEventListener("abort", () => resolve(result)));

test("a run checks, trains, tells its events and gives its result", async () => {
  const parts = fakeParts();
  const run = await start(parts);
  const events = await eventsOf(run);
  expect(await run.result).toEqual(fakeResult);
  expect(parts.calls.map((call) => call.method)).toEqual(["check", "train"]);
  const metrics = events.filter((event) => event.type === "metrics" && event.phase === "agent");
  expect(metrics).toMatchObject([{ epoch: 1 }, { epoch: 2, values: { "agent/reward_mean": 0.5 } }]);
  expect(parts.open.size).toBe(0);
  expect(readFileSync(join(run.dir, "config.yaml"), "utf8")).toContain("builtin:tiny");
});

test("the job gets resolved models, veRL's own data layout and the hooks' address", async () => {
  const parts = fakeParts();
  const run = await start(parts, [
    "genenv.env.actor_rollout_ref.actor.optim.lr=1e-7",
    "+actor_rollout_ref.rollout.new=1",
  ]);
  await run.result;
  const params = parts.calls[1]?.params as {
    verl: { agent: { data: { train_files: string[]; val_files: string[] } } };
  };
  expect(params).toMatchObject({
    runDir: run.dir,
    name: "one",
    envModelPath: "/models/tiny",
    resume: false,
    hooks: { address: "unix:/fake.sock", token: null },
    genenv: { alpha: 0.5, hooks: { timeout_ms: 5000 } },
    verl: {
      agent: { actor_rollout_ref: { model: { path: "/models/tiny" }, rollout: { n: 2, new: 1 } } },
      environment: { actor_rollout_ref: { actor: { optim: { lr: 1e-7 } } } },
      added: ["actor_rollout_ref.rollout.new"],
      deleted: [],
    },
  });
  const { train_files, val_files } = params.verl.agent.data;
  expect(train_files).toEqual([join(run.config.projectDir, "train.parquet")]);
  const [validation = ""] = val_files;
  expect(validation).toMatch(/runs\/one\/data\/validation\/0-val\.parquet$/);
  expect((await readDataFile(validation)).rows[0]).toMatchObject({ groundTruth: "2" });
});

test("a cluster is looked at once the hooks are up, since its nodes have to reach them", async () => {
  const parts = fakeParts({ "check-cluster": async () => null });
  const run = await start(parts, [
    "genenv.ray_address=127.0.0.1:6379",
    "genenv.hooks.address=127.0.0.1",
  ]);
  await run.result;
  const [first, cluster] = parts.calls;
  expect(parts.calls.map((call) => call.method)).toEqual(["check", "check-cluster", "train"]);
  expect(first?.params.hooks).toBeNull();
  expect(cluster?.params.hooks).toMatchObject({
    address: "unix:/fake.sock",
    remote: { address: "tcp:127.0.0.1:7000" },
  });
});

test("files run as hooks isolated, with the limits of the configuration", async () => {
  const parts = fakeParts();
  await (await start(parts, ["genenv.hooks.heap_mb=99"])).result;
  expect(parts.hosts[0]).toMatchObject({
    modules: {
      reward: { kind: "file", path: expect.stringMatching(/reward\.ts$/), exportName: "default" },
      curriculum: { exportName: "paper" },
      algorithms: { exportName: "algorithms" },
    },
    limits: { heapMb: 99, timeoutMs: 5000 },
  });
});

test("a hook given as a value wins over the configuration's", async () => {
  const parts = fakeParts();
  const reward = defineReward({ name: "v", groundTruth: z.string(), score: () => 1 });
  await (await start(parts, [], { hooks: { reward } })).result;
  expect(parts.hosts[0]?.modules.reward).toEqual({ kind: "value", hook: reward });
});

test("with genenv off there is no environment hook and one role's model", async () => {
  const parts = fakeParts();
  await (await start(parts, ["genenv.enable=False"])).result;
  expect(parts.hosts[0]?.modules.environment).toBeNull();
  expect(parts.calls[1]?.params).toMatchObject({ envModelPath: null });
});

describe("failing", () => {
  test("a failed check leaves no folder, nothing open, and both result and iterator say so", async () => {
    const error = new PythonError("too long", { code: "x" });
    const parts = fakeParts({ check: () => Promise.reject(error) });
    const run = await start(parts);
    expect(await rejectionOf(run.result)).toBe(error);
    expect(await rejectionOf(eventsOf(run))).toBe(error);
    expect(parts.open.size).toBe(0);
    expect(existsSync(run.dir)).toBe(false);
  });

  test("a hook that doesn't load ends the check of everything else", async () => {
    const parts = fakeParts({
      check: (_params, { signal }) =>
        new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason))),
    });
    parts.startHookHost = () => Promise.reject(new HookError("no export", { code: "hook-export" }));
    const run = await start(parts);
    expect(await rejectionOf(run.result)).toMatchObject({ code: "hook-export" });
    expect(parts.open.size).toBe(0);
    expect(existsSync(run.dir)).toBe(false);
  });

  test("a training that fails keeps its folder", async () => {
    const parts = fakeParts({ train: () => Promise.reject(new Error("boom")) });
    const run = await start(parts);
    expect((await rejectionOf(run.result)).message).toBe("boom");
    expect(existsSync(join(run.dir, "config.yaml"))).toBe(true);
    expect(parts.open.size).toBe(0);
  });

  test("what is no event is reported, not passed on", async () => {
    const parts = fakeParts({
      train: async (_params, { onEvent }) => {
        onEvent?.({ type: "metrics", epoch: 1, step: 1, phase: "agent", values: { a: "x" } });
      },
    });
    expect(await rejectionOf((await start(parts)).result)).toMatchObject({ code: "bad-message" });
  });
});

describe("stopping", () => {
  test("asks the training to end and gives its result", async () => {
    const parts = fakeParts({ train: untilStopped({ ...fakeResult, stopped: true }) });
    const run = await start(parts);
    await expect.poll(() => parts.calls.length).toBe(2);
    await run.stop();
    expect(await run.result).toMatchObject({ stopped: true, epochs: 2 });
    expect(parts.open.size).toBe(0);
  });

  test("by a signal is the same", async () => {
    const parts = fakeParts({ train: untilStopped({ ...fakeResult, stopped: true }) });
    const controller = new AbortController();
    const run = await start(parts, [], { signal: controller.signal });
    await expect.poll(() => parts.calls.length).toBe(2);
    controller.abort();
    expect(await run.result).toMatchObject({ stopped: true });
  });

  test("ends a training by force that doesn't end in time", async () => {
    const parts = fakeParts({ train: () => new Promise(() => {}) });
    const run = await start(parts);
    await expect.poll(() => parts.calls.length).toBe(2);
    await run.stop({ withinMs: 20 });
    expect(await run.result).toEqual({
      epochs: 0,
      steps: 0,
      checkpoint: null,
      stopped: true,
      metrics: {},
    });
    expect(parts.open.size).toBe(0);
  });

  test("before anything has started is a run of no epochs", async () => {
    const parts = fakeParts();
    const run = await start(parts);
    await run.stop();
    expect(await run.result).toMatchObject({ epochs: 0, stopped: true });
    expect(existsSync(run.dir)).toBe(false);
  });
});
