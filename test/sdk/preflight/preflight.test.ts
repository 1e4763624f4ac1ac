import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { formatError, isUsageError } from "../../../bridge/errors.js";
import { resolveConfig } from "../../../sdk/config/resolve.js";
import { assertBatches } from "../../../sdk/preflight/batch.js";
import { assertModel } from "../../../sdk/preflight/models.js";
import { realParts } from "../../../sdk/run/parts.js";
import { startRun } from "../../../sdk/run.js";
import { fakeParts } from "../run/fake-parts.js";
import { tempProject } from "../run/project.js";
import { rejectionOf, tempFolder, thrownBy } from "../temp.js";

/** How a run of a small project fails, with its files and overrides changed; hooks and their host are real. */
async function failure(
  files: Record<string, string> = {},
  overrides: string[] = [],
): Promise<string> {
  const cwd = await tempProject(files);
  const config = resolveConfig({ config: "my.yaml", cwd, name: "one", overrides });
  const parts = { ...fakeParts(), startHookHost: realParts.startHookHost };
  const error = await rejectionOf(startRun(config, { parts }).result);
  expect([error, isUsageError(error)]).toEqual([error, true]);
  return formatError(error);
}

describe("hooks", () => {
  test("a file that is missing", async () => {
    const text = await failure({}, ["genenv.hooks.reward=./none.ts"]);
    expect(text).toMatch(/there is no hook file .*none\.ts/);
  });

  test("a file that doesn't compile, with its line", async () => {
    expect(await failure({ "reward.ts": "const a = 1;\nexport default {{;\n" })).toMatch(
      /reward\.ts:2:/,
    );
  });

  test("a file that throws while it loads", async () => {
    expect(await failure({ "reward.ts": 'throw new Error("at the top");' })).toContain(
      "at the top",
    );
  });

  test("a file that exports no hook, or another kind of hook", async () => {
    expect(await failure({ "reward.ts": "export const x = 1;" })).toMatch(/no export "default"/);
    const text = await failure({}, ["genenv.hooks.reward=./environment.ts"]);
    expect(text).toContain("an environment hook, not a reward hook");
  });

  test("a vote for labels without a reward that extracts answers", async () => {
    const cwd = await tempProject({});
    const overrides = ["genenv.labels=majority"];
    const config = resolveConfig({ config: "my.yaml", cwd, name: "one", overrides });
    const parts = { ...fakeParts(), startHookHost: realParts.startHookHost };
    expect(await rejectionOf(startRun(config, { parts }).result)).toMatchObject({
      code: "no-extract",
      message:
        "genenv.labels is majority, and the reward doesn't say which answer a response gives",
      hint: expect.stringContaining("extract(response)"),
    });
  });

  test("a built-in that doesn't exist", async () => {
    expect(await failure({}, ["genenv.hooks.reward=builtin:maths"])).toContain(
      "the built-in ones are math,",
    );
  });
});

describe("data", () => {
  test("a row whose ground truth the reward refuses, by row and column", async () => {
    const rows = ["12", "twelve", "13"].map((answer) => JSON.stringify({ question: "q", answer }));
    const text = await failure({ "val.jsonl": rows.join("\n") });
    expect(text).toContain('row 2, answer is "twelve", which the reward "digits" refuses');
    expect(text).toContain("val.jsonl");
  });

  test("a missing column, and an empty file", async () => {
    expect(await failure({ "val.jsonl": '{"question":"q"}' })).toContain("has no column");
    expect(await failure({ "val.jsonl": "" })).toContain("has no rows");
  });
});

describe("models", () => {
  const modelFiles = { "m/config.json": '{"model_type":"llama"}', "m/tokenizer.json": "{}" };

  test("a folder that isn't there or isn't a model is named with its place", async () => {
    expect(await failure({}, ["actor_rollout_ref.model.path=./none"])).toMatch(
      /none is not a model: .*\n {2}at: override/,
    );
    expect(await failure({ "m/readme.md": "" }, ["env_model_path=./m"])).toContain(
      "is not a model",
    );
    expect(await failure(modelFiles, ["env_model_path=./m"])).toContain("is not a model");
  });

  test("a built-in model has to exist", async () => {
    expect(await failure({}, ["env_model_path=builtin:gpt9"])).toContain("builtin:smollm2-135m");
  });

  test("a hub id is refused only where the hub is off and the cache lacks it", async () => {
    const cache = tempFolder({ "models--a--b/x": "" });
    const offline = { HF_HUB_OFFLINE: "1", HF_HUB_CACHE: cache };
    await assertModel("a/b", null, offline);
    await assertModel("a/c", null, {});
    expect((await rejectionOf(assertModel("a/c", null, offline))).message).toContain("offline");
    await assertModel("agent", null);
    await assertModel("builtin:tiny", null);
  });

  test("a hub id that is also a folder here is that folder", async () => {
    const cwd = await tempProject({ "a/b/config.json": "{}" });
    const config = resolveConfig({ config: "my.yaml", cwd, name: "one", model: "a/b" });
    expect(config.agentModel).toBe(join(cwd, "a/b"));
  });
});

describe("batches", () => {
  async function check(...overrides: string[]): Promise<() => void> {
    const cwd = await tempProject();
    const config = resolveConfig({ config: "my.yaml", cwd, name: "one", overrides });
    return () => assertBatches(config);
  }

  test("that veRL can divide are accepted", async () => {
    expect(await check()).not.toThrow();
    expect(await check("actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4")).not.toThrow();
    const dynamic = ["actor_rollout_ref.actor.use_dynamic_bsz=True"];
    expect(
      await check(...dynamic, "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=3"),
    ).not.toThrow();
  });

  test.each([
    [
      "a mini-batch over the batch",
      ["actor_rollout_ref.actor.ppo_mini_batch_size=8"],
      /larger than/,
    ],
    [
      "a batch that its mini-batch doesn't divide",
      ["actor_rollout_ref.actor.ppo_mini_batch_size=3"],
      /data\.train_batch_size \(4\) does not divide by .*ppo_mini_batch_size \(3\)/,
    ],
    [
      "rows that the micro-batch doesn't divide",
      ["actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=3"],
      /4 rows a device .* do not divide by .*\(3\)/,
    ],
    ["rows that the devices don't divide", ["trainer.n_gpus_per_node=3"], /by 3 devices/],
    ["a batch of none", ["data.train_batch_size=0"], /data\.train_batch_size is 0/],
    ["half a response", ["actor_rollout_ref.rollout.n=1.5"], /rollout\.n is 1\.5/],
    [
      "lengths over the model's",
      ["actor_rollout_ref.rollout.max_model_len=1000"],
      /together exceed .*max_model_len \(1000\)/,
    ],
    [
      "an environment's mini-batch over its prompts",
      ["genenv.env.actor_rollout_ref.actor.ppo_mini_batch_size=4"],
      /genenv\.env\.actor_rollout_ref\.actor\.ppo_mini_batch_size \(4\) is larger than/,
    ],
  ])("%s is refused", async (_name, overrides, message) => {
    const error = thrownBy(await check(...overrides));
    expect(error).toMatchObject({ code: "batch-arithmetic", hint: expect.any(String) });
    expect(error.message).toMatch(message);
  });

  test("the environment's are not looked at where there is none", async () => {
    const overrides = [
      "genenv.enable=False",
      "genenv.env.actor_rollout_ref.actor.ppo_mini_batch_size=4",
    ];
    expect(await check(...overrides)).not.toThrow();
  });
});
