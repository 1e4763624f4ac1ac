import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { resolveConfig } from "../../../sdk/config/resolve.js";
import { writeConfig } from "../../../sdk/config/write.js";
import { defineReward } from "../../../sdk/define.js";
import { lockRun } from "../../../sdk/run/lock.js";
import { assertCanResume, changedKeys, resumeConfig } from "../../../sdk/run/resume.js";
import { resume, startRun } from "../../../sdk/run.js";
import { rejectionOf, thrownBy } from "../temp.js";
import { fakeParts } from "./fake-parts.js";
import { tempProject } from "./project.js";

interface Left {
  cwd: string;
  dir: string;
}

/** A run of two epochs that was cut off; `epoch` is its newest complete checkpoint. */
async function cutOff(epoch: number | null, overrides: string[] = []): Promise<Left> {
  const cwd = await tempProject();
  const config = resolveConfig({ config: "my.yaml", cwd, name: "one", overrides });
  writeConfig(config);
  const dir = config.runDir;
  if (epoch !== null) {
    const folder = join(dir, "checkpoints", `epoch-${epoch}`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "state.json"), "{}");
    writeFileSync(join(folder, "config.yaml"), readFileSync(join(dir, "config.yaml")));
  }
  return { cwd, dir };
}

function goOn({ cwd, dir }: Left, overrides: string[] = []): void {
  assertCanResume(resumeConfig(dir, { cwd, overrides }));
}

test("a run that was cut off goes on in its folder with its own configuration", async () => {
  const { cwd, dir } = await cutOff(1, ["genenv.alpha=0.4"]);
  const parts = fakeParts();
  const run = startRun(resumeConfig("runs/one", { cwd }), { parts });
  await run.result;
  expect(run.dir).toBe(dir);
  expect(parts.calls[1]?.params).toMatchObject({
    runDir: dir,
    name: "one",
    resume: true,
    genenv: { alpha: 0.4 },
  });
});

test("a run goes on twice in one folder, each time with what was changed before", async () => {
  const cwd = await tempProject();
  const first = startRun(resolveConfig({ config: "my.yaml", cwd, name: "one" }), {
    parts: fakeParts(),
  });
  await first.result;
  for (const overrides of [["trainer.total_epochs=5"], []]) {
    const run = startRun(resumeConfig("runs/one", { cwd, overrides }), { parts: fakeParts() });
    await run.result;
    expect(run.config.verl.agent).toMatchObject({ trainer: { total_epochs: 5 } });
  }
});

test("a run without a checkpoint begins anew, as it is configured now", async () => {
  const left = await cutOff(null);
  goOn(left, ["genenv.alpha=0.3", "data.train_batch_size=8"]);
});

test("what is no checkpoint is not gone on from", async () => {
  const left = await cutOff(null);
  mkdirSync(join(left.dir, "checkpoints", ".epoch-2.draft"), { recursive: true });
  mkdirSync(join(left.dir, "checkpoints", "epoch-2"), { recursive: true });
  goOn(left);
});

test("a folder that was moved is gone on with where it is", async () => {
  const { cwd, dir } = await cutOff(1);
  renameSync(dir, join(cwd, "runs", "moved"));
  expect(resumeConfig("runs/moved", { cwd })).toMatchObject({
    runDir: join(cwd, "runs", "moved"),
    resume: true,
  });
});

describe("a configuration that changed", () => {
  test.each([
    "trainer.total_epochs=9",
    "trainer.save_freq=2",
    "trainer.max_actor_ckpt_to_keep=3",
    "genenv.hooks.timeout_ms=9",
    "genenv.hooks.max_failure_rate=1",
    "genenv.keep_best=true",
    "actor_rollout_ref.rollout.val_kwargs.n=2",
    "genenv.env.actor_rollout_ref.rollout.gpu_memory_utilization=0.3",
  ])("goes on with %s", async (override) => {
    goOn(await cutOff(1), [override]);
  });

  test.each([
    ["genenv.alpha=0.4", "genenv.alpha (0.5 -> 0.4)"],
    ["actor_rollout_ref.rollout.n=4", "actor_rollout_ref.rollout.n (2 -> 4)"],
    [
      "actor_rollout_ref.actor.optim.lr=1e-5",
      "actor_rollout_ref.actor.optim.lr (0.000001 -> 0.00001)",
    ],
    ["env_model_path=agent", 'env_model_path ("builtin:tiny" -> "agent")'],
    ["genenv.env.data.train_batch_size=3", "genenv.env.data.train_batch_size (null -> 3)"],
    ["+actor_rollout_ref.rollout.new=1", "+actor_rollout_ref.rollout.new (null -> 1)"],
  ])("is refused for %s, and named", async (override, named) => {
    const left = await cutOff(1);
    const error = thrownBy(() => goOn(left, [override]));
    expect(error).toMatchObject({ code: "resume-changed" });
    expect(error.message).toContain(named);
    expect((error as Error & { hint: string }).hint).toContain("trainer.total_epochs");
  });

  test("names every key that changed", async () => {
    const left = await cutOff(1);
    const error = thrownBy(() => goOn(left, ["genenv.alpha=0.4", "genenv.beta=2"]));
    expect(error.message).toContain("genenv.alpha");
    expect(error.message).toContain("genenv.beta");
  });

  test("counts as such where the file of the run was edited too", async () => {
    const left = await cutOff(1);
    const file = join(left.dir, "config.yaml");
    writeFileSync(file, readFileSync(file, "utf8").replace("alpha: 0.5", "alpha: 0.25"));
    expect(thrownBy(() => goOn(left))).toMatchObject({ code: "resume-changed" });
  });

  test("may name a key with the value it had by default", async () => {
    const left = await cutOff(1);
    goOn(left, ["actor_rollout_ref.actor.optim.lr=1e-6", "genenv.alpha=0.5"]);
  });

  test("differs by values, whatever the order of keys", () => {
    expect(changedKeys({ a: { b: 1, c: [1] } }, { a: { c: [1], b: 1 } })).toEqual([]);
    expect(changedKeys({ a: { c: [1] } }, { a: { c: [2] } })).toMatchObject([{ key: "a.c" }]);
  });
});

describe("what can't go on", () => {
  test("is a run whose epochs are finished, until it is to have more", async () => {
    const left = await cutOff(2);
    expect(thrownBy(() => goOn(left))).toMatchObject({
      code: "run-finished",
      hint: "to go on with it, add trainer.total_epochs=4",
    });
    goOn(left, ["trainer.total_epochs=3"]);
  });

  test("is a folder without a run", async () => {
    const cwd = await tempProject();
    expect(thrownBy(() => resume("runs/none", { cwd }))).toMatchObject({ code: "no-run" });
  });

  test("is a run whose data file is gone", async () => {
    const left = await cutOff(1);
    rmSync(join(left.cwd, "train.parquet"));
    const run = startRun(resumeConfig(left.dir, left), { parts: fakeParts() });
    const error = await rejectionOf(run.result);
    expect(error).toMatchObject({ name: "DataError", code: "data-missing" });
    expect(error.message).toContain("train.parquet");
  });

  test("is a run that is still under way", async () => {
    const left = await cutOff(1);
    const unlock = lockRun(left.dir);
    const parts = fakeParts();
    const run = startRun(resumeConfig(left.dir, left), { parts });
    expect(await rejectionOf(run.result)).toMatchObject({ code: "run-busy" });
    expect(parts.calls).toEqual([]);
    unlock();
  });

  test("is a run whose hook was a value, unless it is given again", async () => {
    const cwd = await tempProject();
    const reward = defineReward({ name: "r", groundTruth: z.string(), score: () => 1 });
    const yaml = readFileSync(join(cwd, "my.yaml"), "utf8").replace("reward: ./reward.ts, ", "");
    writeFileSync(join(cwd, "own.yaml"), yaml);
    const config = resolveConfig({ config: "own.yaml", cwd, name: "v", hooksGiven: ["reward"] });
    writeConfig(config);
    expect(thrownBy(() => resume("runs/v", { cwd }))).toMatchObject({ code: "hook-unset" });
    const parts = fakeParts();
    const again = resumeConfig("runs/v", { cwd, hooksGiven: ["reward"] });
    await startRun(again, { parts, hooks: { reward } }).result;
    expect(parts.hosts[0]?.modules.reward).toMatchObject({ kind: "value" });
  });
});

test("a run under way holds its folder, and lets go of it however it ends", async () => {
  const cwd = await tempProject();
  const config = resolveConfig({ config: "my.yaml", cwd, name: "one" });
  const parts = fakeParts({
    train: async () => {
      expect(thrownBy(() => lockRun(config.runDir))).toMatchObject({ code: "run-busy" });
      throw new Error("cut off");
    },
  });
  await rejectionOf(startRun(config, { parts }).result);
  lockRun(config.runDir)();
});
