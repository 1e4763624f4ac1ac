import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ConfigError, formatError } from "../../../bridge/errors.js";
import { type ConfigRequest, resolveConfig } from "../../../sdk/config/resolve.js";
import { toConfigYaml, writeConfig } from "../../../sdk/config/write.js";
import { tempFolder, thrownBy } from "../temp.js";

const yaml = `\
actor_rollout_ref:
  model:
    path: ./model
  rollout:
    n: 4
data:
  train_files: [a.parquet, ~/b.parquet]
  val_files: v.parquet
genenv:
  alpha: 0.4
  hooks:
    reward: ./reward.ts#mine
    environment: ./environment.ts
`;

function resolve(
  overrides: string[] = [],
  request: ConfigRequest = {},
  text = yaml,
): ReturnType<typeof resolveConfig> {
  const cwd = tempFolder({ "my.yaml": text });
  return resolveConfig({ config: "my.yaml", cwd, overrides, ...request });
}

const textOf = (run: () => unknown): string => formatError(thrownBy(run));

describe("defaults", () => {
  test("fills in every default of the genenv section", () => {
    const { genenv } = resolve();
    expect(genenv).toMatchObject({
      enable: true,
      alpha: 0.4,
      filtering_k: 0.1,
      filtering_mode: "band",
      env_update: "rwr",
      success_threshold: 1,
      hooks: { curriculum: "builtin:paper", scoring: "batch", max_failure_rate: 0.1 },
    });
  });

  test("the agent's advantage is GRPO's unless told otherwise", () => {
    expect(resolve().verl.agent.algorithm).toEqual({ adv_estimator: "grpo" });
    const rloo = resolve(["algorithm.adv_estimator=rloo"]);
    expect(rloo.verl.agent.algorithm).toEqual({ adv_estimator: "rloo" });
  });

  test("the default run's configuration resolves", () => {
    const config = resolveConfig({ cwd: tempFolder() });
    expect(config.agentModel).toBe("builtin:smollm2-135m");
    expect(config.envModelPath).toBe("builtin:smollm2-135m");
    expect(config.genenv.hooks.reward).toMatch(/^\/.*examples\/arithmetic\/reward\.ts$/);
  });
});

describe("paths", () => {
  test("become absolute from the project's folder", () => {
    const config = resolve();
    const { projectDir } = config;
    expect(config.agentModel).toBe(join(projectDir, "model"));
    expect(config.dataFiles).toEqual({
      train: [join(projectDir, "a.parquet"), join(homedir(), "b.parquet")],
      validation: [join(projectDir, "v.parquet")],
    });
    expect(config.genenv.hooks.reward).toBe(`${join(projectDir, "reward.ts")}#mine`);
  });

  test("hub ids and built-in models stay as they are", () => {
    expect(resolve([], { model: "Qwen/Qwen3-0.6B" }).agentModel).toBe("Qwen/Qwen3-0.6B");
    expect(resolve([], { envModel: "builtin:smollm2-135m" }).envModelPath).toBe(
      "builtin:smollm2-135m",
    );
  });
});

describe("models", () => {
  test("the environment starts from the agent's model where none is named", () => {
    const config = resolve();
    expect(config.envModelPath).toBe(config.agentModel);
  });

  test("agent means one model in both roles", () => {
    expect(resolve([], { envModel: "agent" }).envModelPath).toBe("agent");
  });

  test("plain GRPO has no environment model and needs no environment hook", () => {
    const config = resolve(["genenv.enable=False", "~genenv.hooks.environment"]);
    expect(config.envModelPath).toBeNull();
  });

  test("no model is an error that says how to name one", () => {
    expect(textOf(() => resolve(["~actor_rollout_ref.model"]))).toMatch(/--model/);
  });
});

describe("the numbers of the algorithm", () => {
  test.each([
    "genenv.alpha=0.001",
    "genenv.alpha=0.999",
    "genenv.beta=0.001",
    "genenv.beta=1000",
    "genenv.lambda=0",
    "genenv.lambda=100",
    "genenv.filtering_k=0",
    "genenv.filtering_k=1",
    "genenv.pool.cap=0",
    "genenv.pool.seed_fraction=0",
    "genenv.pool.seed_fraction=1",
    "genenv.pool.near_duplicate=1",
    "genenv.env_update=rwr",
    "genenv.env_update=grpo",
    "genenv.env_update=none",
  ])("%s is taken", (override) => {
    expect(() => resolve([override])).not.toThrow();
  });

  test.each([
    ["genenv.alpha=0", /genenv\.alpha is 0: /],
    ["genenv.alpha=1", /genenv\.alpha is 1: /],
    ["genenv.alpha=-0.5", /genenv\.alpha is -0\.5: /],
    ["genenv.beta=0", /genenv\.beta is 0: /],
    ["genenv.beta=-1", /genenv\.beta is -1: /],
    ["genenv.beta=1001", /genenv\.beta is 1001: /],
    ["genenv.lambda=-1", /genenv\.lambda is -1: /],
    ["genenv.lambda=1e9", /genenv\.lambda is 1000000000: /],
    ["genenv.lambda=.inf", /genenv\.lambda/],
    ["genenv.filtering_k=-0.1", /genenv\.filtering_k is -0\.1: /],
    ["genenv.filtering_k=1.1", /genenv\.filtering_k is 1\.1: /],
    ["genenv.filtering_mode=median", /genenv\.filtering_mode is "median": /],
    ["genenv.pool.cap=-1", /genenv\.pool\.cap is -1: /],
    ["genenv.pool.near_duplicate=0", /genenv\.pool\.near_duplicate is 0: /],
    ["genenv.pool.seed_fraction=1.5", /genenv\.pool\.seed_fraction is 1\.5: /],
    ["genenv.env_update=ppo", /genenv\.env_update is "ppo": /],
  ])("%s is refused with the value", (override, text) => {
    expect(thrownBy(() => resolve([override]))).toMatchObject({ code: "bad-value" });
    expect(textOf(() => resolve([override]))).toMatch(text);
  });
});

describe("values that can't be carried out", () => {
  test.each([
    ["genenv.ray_address=ray://head:10001", /genenv\.ray_address.*runs in a proxy on the head/],
    ["genenv.ray_address=head", /genenv\.ray_address.*neither auto nor a host and a port/],
    ["genenv.hooks.placement=node", /genenv\.hooks\.placement.*there is one machine/],
    ["genenv.hooks.address=10.0.0.1", /genenv\.hooks\.address.*on a Unix socket/],
    ["trainer.resume_mode=resume_path", /trainer\.resume_mode.*newest complete checkpoint/],
    ["trainer.resume_from_path=runs/x", /trainer\.resume_from_path.*newest complete checkpoint/],
    ["genenv.env.trainer.max_actor_ckpt_to_keep=2", /without genenv\.env/],
  ])("%s is refused with the reason", (override, text) => {
    expect(textOf(() => resolve([override]))).toMatch(text);
  });

  test("a vote for labels is refused where responses are scored before all are there", () => {
    const overrides = ["genenv.labels=majority", "genenv.hooks.scoring=overlap"];
    expect(textOf(() => resolve(overrides))).toMatch(/genenv\.labels.*needs all responses/);
    expect(resolve(overrides.slice(0, 1)).genenv.labels).toBe("majority");
  });

  test.each([
    ["algorithm.filter_groups.metric=seq_reward", /metric.*where its rewards differ/],
    ["algorithm.filter_groups.max_inflight_gen_batches=2", /one batch is rolled out at a time/],
    [
      "genenv.env.algorithm.filter_groups.enable=true",
      /the environment's answers are not refilled/,
    ],
  ])("%s is refused", (override, text) => {
    expect(textOf(() => resolve([override]))).toMatch(text);
  });

  test("the values that work are taken", () => {
    expect(resolve(["genenv.ray_address=null"]).genenv.ray_address).toBeNull();
    for (const address of ["auto", "head.local:6379", "10.0.0.1:6379", "[2001:db8::1]:6379"]) {
      const { genenv } = resolve([`genenv.ray_address=${JSON.stringify(address)}`]);
      expect(genenv.ray_address).toBe(address);
    }
    const node = resolve(["genenv.ray_address=auto", "genenv.hooks.placement=node"]);
    expect(node.genenv.hooks.placement).toBe("node");
    expect(resolve(["genenv.hooks.scoring=batch"]).genenv.hooks.scoring).toBe("batch");
  });
});

describe("roles", () => {
  test("the environment has the agent's keys with genenv.env laid over them", () => {
    const config = resolve([
      "actor_rollout_ref.actor.optim.lr=1e-5",
      "actor_rollout_ref.actor.clip_ratio=0.3",
      "genenv.env.actor_rollout_ref.actor.optim.lr=1e-6",
      "genenv.num_generations_per_prompt=6",
    ]);
    expect(config.verl.agent.actor_rollout_ref).toMatchObject({
      actor: { optim: { lr: 1e-5 }, clip_ratio: 0.3 },
      rollout: { n: 4 },
    });
    expect(config.verl.environment.actor_rollout_ref).toMatchObject({
      actor: { optim: { lr: 1e-6 }, clip_ratio: 0.3 },
      rollout: { n: 6 },
    });
  });
});

describe("the environment's batches", () => {
  const sizes = (overrides: string[]): unknown => resolve(overrides).verl.environment;

  test("are sized so that its answers about fill the agent's batch", () => {
    const overrides = ["data.train_batch_size=9", "genenv.num_generations_per_prompt=4"];
    expect(sizes(overrides)).toMatchObject({
      data: { train_batch_size: 2 },
      actor_rollout_ref: { actor: { ppo_mini_batch_size: 2 }, rollout: { n: 4 } },
    });
    expect(sizes(["data.train_batch_size=2"])).toMatchObject({ data: { train_batch_size: 1 } });
  });

  test("take the agent's micro-batch as far as it divides their rows", () => {
    const overrides = [
      "data.train_batch_size=12",
      "genenv.num_generations_per_prompt=4",
      "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=8",
    ];
    const actor = { ppo_mini_batch_size: 3, ppo_micro_batch_size_per_gpu: 6 };
    expect(sizes(overrides)).toMatchObject({ actor_rollout_ref: { actor } });
  });

  test("are what genenv.env says where it says it", () => {
    const overrides = [
      "genenv.env.data.train_batch_size=6",
      "genenv.env.actor_rollout_ref.actor.ppo_mini_batch_size=3",
      "genenv.env.actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=5",
    ];
    const actor = { ppo_mini_batch_size: 3, ppo_micro_batch_size_per_gpu: 5 };
    expect(sizes(overrides)).toMatchObject({
      data: { train_batch_size: 6 },
      actor_rollout_ref: { actor },
    });
  });
});

describe("overrides", () => {
  test("take YAML values: numbers, booleans, lists, null, empty text", () => {
    const { verl } = resolve([
      "data.seed=7",
      "data.shuffle=False",
      "trainer.logger=[console,tensorboard]",
      "data.tokenizer=null",
      "trainer.project_name=",
    ]);
    expect(verl.agent.data).toMatchObject({ seed: 7, shuffle: false, tokenizer: null });
    expect(verl.agent.trainer).toMatchObject({
      logger: ["console", "tensorboard"],
      project_name: "",
    });
  });

  test("the last one wins", () => {
    expect(resolve(["genenv.alpha=0.2", "genenv.alpha=0.3"]).genenv.alpha).toBe(0.3);
  });

  test("+ adds a key that veRL lacks, and ++ sets one either way", () => {
    const { verl } = resolve([
      "+actor_rollout_ref.rollout.enable_sleep_mode=False",
      "++actor_rollout_ref.rollout.seed=1",
    ]);
    expect(verl.added).toEqual(["actor_rollout_ref.rollout.enable_sleep_mode"]);
    expect(verl.agent.actor_rollout_ref).toMatchObject({
      rollout: { enable_sleep_mode: false, seed: 1 },
    });
  });

  test("+ on a key that is there is an error", () => {
    expect(textOf(() => resolve(["+data.seed=1"]))).toContain("write data.seed=... to set it");
  });

  test("free-form sections take any key without +", () => {
    const { verl } = resolve(["actor_rollout_ref.model.override_config.attn_implementation=sdpa"]);
    expect(verl.added).toEqual([]);
  });

  test("~ takes a veRL key out, and puts a genenv key back to its default", () => {
    const config = resolve(["~actor_rollout_ref.actor.entropy_coeff", "~genenv.alpha"]);
    expect(config.verl.deleted).toEqual(["actor_rollout_ref.actor.entropy_coeff"]);
    expect(config.genenv.alpha).toBe(0.5);
  });

  test.each(["genenv.alpha", "=1", "a..b=1", "data.seed=[1", "__proto__.x=1"])(
    "refuses %s, which is no override",
    (text) => {
      expect(thrownBy(() => resolve([text]))).toMatchObject({ code: "bad-override" });
    },
  );

  test("says what is missing in a mapping without spaces", () => {
    const text = textOf(() => resolve(["actor_rollout_ref.model.override_config={a:1}"]));
    expect(text).toContain("space after each colon");
  });
});

describe("unknown keys", () => {
  test.each([
    ["genenv.alhpa=0.5", "did you mean genenv.alpha?"],
    ["genenv.hooks.rewrd=x", "did you mean genenv.hooks.reward?"],
    ["genenv.pool.seed_fracton=1", "did you mean genenv.pool.seed_fraction?"],
    ["actor_rollout_ref.actor.optm.lr=1", "did you mean actor_rollout_ref.actor.optim.lr?"],
    ["optim.lr=1", "did you mean actor_rollout_ref.actor.optim.lr?"],
    ["env_model=x", "did you mean env_model_path?"],
    [
      "genenv.env.actor_rollout_ref.actor.optim.lrr=1",
      "did you mean genenv.env.actor_rollout_ref.actor.optim.lr?",
    ],
  ])("%s: %s", (override, hint) => {
    expect(textOf(() => resolve([override]))).toContain(hint);
  });

  test("in a file are found with their line", () => {
    const text = textOf(() => resolve([], {}, yaml.replace("alpha", "alfa")));
    expect(text).toMatch(/unknown key genenv\.alfa\n {2}at: .*my\.yaml:10:3\n.*genenv\.alpha/);
  });

  test("nothing is suggested where nothing is near", () => {
    expect(textOf(() => resolve(["xyzzy.plugh.frobnicate=1"]))).toContain(
      "no known key is like it",
    );
  });
});

describe("bad values", () => {
  test.each([
    "genenv.alpha=0",
    "genenv.alpha=1",
    "genenv.beta=0",
    "genenv.beta=-1",
    "genenv.beta=1e9",
    "genenv.lambda=-0.1",
    "genenv.lambda=1e6",
    "genenv.filtering_k=1.1",
    "genenv.filtering_k=-0.1",
    "genenv.beta=.nan",
    "genenv.success_threshold=.inf",
    "genenv.env_update=ppo",
    "genenv.num_generations_per_prompt=0",
    "genenv.hooks.on_failure=ignore",
    "genenv.device=tpu",
    "actor_rollout_ref.rollout.n=many",
    "data.shuffle=maybe",
    "data.shuffle={a: 1}",
    "actor_rollout_ref.rollout=4",
  ])("refuses %s", (override) => {
    const error = thrownBy(() => resolve([override]));
    expect(error).toBeInstanceOf(ConfigError);
    expect(formatError(error)).toContain(override.split("=")[0]);
  });

  test.each(["genenv.filtering_k=0", "genenv.filtering_k=1", "genenv.lambda=0"])(
    "accepts the edge %s",
    (override) => {
      expect(() => resolve([override])).not.toThrow();
    },
  );

  test("reports every bad value of the section, and what the first one means", () => {
    const text = textOf(() => resolve(["genenv.alpha=2", "genenv.beta=0"]));
    expect(text).toContain("genenv.alpha is 2");
    expect(text).toContain("genenv.beta is 0");
    expect(text).toContain("Target success rate");
  });
});

describe("keys without effect", () => {
  test.each([
    "trainer.v1.trainer_mode=sync",
    "critic.optim.lr=1e-5",
    "reward.reward_manager.name=dapo",
    "algorithm.adv_estimator=gae",
    "actor_rollout_ref.rollout.name=sglang",
    "genenv.env.algorithm.adv_estimator=grpo",
    "genenv.env.trainer.total_epochs=3",
    "genenv.env.actor_rollout_ref.model.path=x",
  ])("refuses %s with the reason", (override) => {
    expect(thrownBy(() => resolve([override]))).toMatchObject({
      code: "refused-key",
      message: expect.stringContaining("can have no effect in genenv: "),
    });
  });

  test("the value that is in force anyway is no error", () => {
    expect(() => resolve(["actor_rollout_ref.rollout.name=vllm"])).not.toThrow();
  });
});

describe("hooks", () => {
  test("a missing reward or environment hook is an error", () => {
    expect(textOf(() => resolve(["~genenv.hooks.reward"]))).toContain("no reward hook is given");
    const text = textOf(() => resolve(["~genenv.hooks.environment"]));
    expect(text).toContain("genenv.enable=False");
  });

  test("a hook given as a value needs no file", () => {
    const request = { hooksGiven: ["reward"] } as const;
    expect(resolve(["~genenv.hooks.reward"], request).genenv.hooks.reward).toBeNull();
  });

  test("a Python reward stands in for a TypeScript one, and both are a conflict", () => {
    const python = "reward.custom_reward_function.path=r.py";
    expect(() => resolve([python, "~genenv.hooks.reward"])).not.toThrow();
    expect(thrownBy(() => resolve([python]))).toMatchObject({ code: "hook-conflict" });
  });
});

describe("files", () => {
  test("a file that isn't there, isn't YAML or isn't a mapping is an error with its place", () => {
    const cwd = tempFolder({
      "a.yaml": "a: [1\nb: 2\n",
      "b.yaml": "- 1\n",
      "c.yaml": "a: 1\na: 2\n",
    });
    const code = (config: string): unknown => thrownBy(() => resolveConfig({ config, cwd }));
    expect(code("none.yaml")).toMatchObject({ code: "config-missing" });
    expect(code("a.yaml")).toMatchObject({ code: "config-syntax", place: { line: 2 } });
    expect(code("b.yaml")).toMatchObject({ code: "config-syntax" });
    expect(code("c.yaml")).toMatchObject({ code: "config-syntax", place: { line: 2 } });
  });

  test("an empty file is a configuration without an agent's model", () => {
    const error = thrownBy(() => resolve([], { hooksGiven: ["reward", "environment"] }, ""));
    expect(error).toMatchObject({ code: "model-missing" });
  });

  test("an object configures a run like a file", () => {
    const config = resolveConfig({
      cwd: tempFolder(),
      config: {
        genenv: { alpha: 0.6, hooks: { reward: "builtin:math", environment: "e.ts" } },
        data: { train_files: "a.parquet", val_files: "b.parquet" },
        actor_rollout_ref: { model: { path: "m" } },
      },
    });
    expect(config.genenv.alpha).toBe(0.6);
    expect(config.genenv.hooks.reward).toBe("builtin:math");
  });
});

describe("the run's folder", () => {
  test("is runs/NAME, NAME from the request, the experiment or the clock", () => {
    const now = new Date(2025, 0, 2, 3, 4, 5);
    expect(resolve([], { name: "one" })).toMatchObject({ name: "one" });
    expect(resolve(["trainer.experiment_name=two"]).runDir).toMatch(/runs\/two$/);
    expect(resolve([], { now }).name).toBe("2025-01-02_03-04-05");
    const folder = resolve(["trainer.default_local_dir=out/three"]);
    expect(folder).toMatchObject({ name: "three", resume: false });
    expect(folder.runDir).toMatch(/^\/.*\/out\/three$/);
  });

  test("is never overwritten, and goes on only where resume_mode says so", () => {
    const cwd = tempFolder({ "my.yaml": yaml, "runs/one/config.yaml": "a: 1\n" });
    const request = { config: "my.yaml", cwd, name: "one" };
    expect(thrownBy(() => resolveConfig(request))).toMatchObject({ code: "run-exists" });
    const resumed = resolveConfig({ ...request, overrides: ["trainer.resume_mode=auto"] });
    expect(resumed.resume).toBe(true);
  });

  test.each(["../x", "", "a/b", ".hidden", "a\nb"])("can't be called %j", (name) => {
    expect(thrownBy(() => resolve([], { name }))).toMatchObject({ code: "bad-name" });
  });
});

describe("the resolved configuration", () => {
  test("as YAML resolves to the same again", () => {
    const overrides = [
      "+actor_rollout_ref.rollout.enable_sleep_mode=False",
      "+genenv.env.actor_rollout_ref.rollout.extra={x: 1}",
      "~actor_rollout_ref.actor.entropy_coeff",
    ];
    const first = resolve(overrides, { name: "one" });
    writeFileSync(join(first.projectDir, "again.yaml"), toConfigYaml(first));
    const again = resolveConfig({ config: "again.yaml", cwd: first.projectDir, name: "one" });
    const { placeOf: _, ...plain } = first;
    expect(again).toMatchObject(plain);
  });

  test("is written whole, with nothing left beside it", () => {
    const config = resolve([], { name: "one" });
    writeConfig(config);
    expect(readdirSync(config.runDir)).toEqual(["config.yaml"]);
    expect(readFileSync(join(config.runDir, "config.yaml"), "utf8")).toContain("alpha: 0.4");
  });
});
