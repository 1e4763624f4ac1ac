/** The configurations for GPUs: resolved here, then composed by veRL's own Hydra schema and checked by its dataclasses. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { resolveConfig } from "../../../sdk/config/resolve.js";
import { assertBatches } from "../../../sdk/preflight/batch.js";
import { runPython, testPython } from "../../python-env.js";

const root = join(import.meta.dirname, "..", "..", "..");
const files = [
  ...readdirSync(join(root, "configs"))
    .filter((name) => name.startsWith("qwen"))
    .map((name) => `configs/${name}`),
  "examples/math/gpu-8.yaml",
];
const python = testPython();

/** Sizes of Qwen2.5's config.json files: layers, hidden, intermediate, vocabulary, key-value heads, head size, tied. */
const shapes = {
  "Qwen/Qwen2.5-0.5B-Instruct": [24, 896, 4864, 151936, 2, 64, true],
  "Qwen/Qwen2.5-7B-Instruct": [28, 3584, 18944, 152064, 4, 128, false],
  "Qwen/Qwen2.5-32B-Instruct": [64, 5120, 27648, 152064, 8, 128, false],
};

const program = `
import json, sys
from genenv.cluster_check import needs_of
from genenv.gpu_memory import GIB, Shape, estimate, refuse_too_large
from genenv.loop.settings import from_params
from verl.utils.config import omega_conf_to_dataclass, validate_config
given = json.load(open(sys.argv[1]))
# veRL's own check prints that it is content.
answer, sys.stdout = sys.stdout, sys.stderr
out = {}
for file, params in given["runs"].items():
    settings = from_params(params)
    for role, config in settings.configs.items():
        validate_config(config=config, use_reference_policy=True, use_critic=False)
        omega_conf_to_dataclass(config.actor_rollout_ref.rollout)
        shape = Shape(*given["shapes"][config.actor_rollout_ref.model.path])
        device = given["gib"][file] * GIB
        refuse_too_large(role, config, estimate(shape, config, device), device)
    agent = settings.agent.actor_rollout_ref
    (need,) = needs_of(settings.configs, share=settings.shares_devices)
    out[file] = {
        "roles": list(settings.configs), "lr": agent.actor.optim.lr, "n": agent.rollout.n,
        "kl": [agent.actor.use_kl_loss, agent.actor.kl_loss_coef, agent.actor.kl_loss_type],
        "batch": [settings.batch_size, agent.actor.ppo_mini_batch_size],
        "lengths": [settings.agent.data.max_prompt_length, settings.agent.data.max_response_length],
        "lora": agent.model.lora_rank, "gpus": [need.nodes, need.devices],
        "sleeps": agent.rollout.free_cache_engine,
        "offloads": [agent.actor.fsdp_config.param_offload, agent.actor.fsdp_config.optimizer_offload],
    }
print(json.dumps(out), file=answer)
`;

describe.skipIf(python === null)("configurations for GPUs", { timeout: 180_000 }, () => {
  let composed: Record<string, Record<string, unknown>>;

  beforeAll(async () => {
    const { mkdtempSync, rmSync, writeFileSync } = await import("node:fs");
    const dir = mkdtempSync("/tmp/genenv-test-");
    const runs = Object.fromEntries(files.map((file) => [file, paramsOf(file)]));
    const gib = Object.fromEntries(
      files.map((file) => [file, /lora-8gpu|0\.5b/.test(file) && !file.includes("32b") ? 24 : 80]),
    );
    writeFileSync(join(dir, "in.json"), JSON.stringify({ runs, shapes, gib }));
    try {
      composed = runPython(
        python as string,
        `import sys; sys.path.insert(0, ${JSON.stringify(join(root, "py"))})\n${program}`,
        join(dir, "in.json"),
      ) as typeof composed;
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  }, 180_000);

  test.each(files)("%s is one that veRL takes, and fits the GPUs it names", (file) => {
    expect(composed[file]).toMatchObject({
      roles: ["agent", "environment"],
      sleeps: true,
      offloads: [true, true],
    });
  });

  test("the paper's has the paper's numbers", () => {
    expect(composed["configs/qwen2.5-7b-8gpu.yaml"]).toMatchObject({
      lr: 1e-6,
      n: 8,
      kl: [true, 0.001, "low_var_kl"],
      batch: [64, 16],
      lengths: [4096, 512],
      lora: 0,
      gpus: [1, 8],
    });
  });

  test("a name says how many GPUs it takes, and whether it trains an adapter", () => {
    const gpus = Object.fromEntries(
      Object.entries(composed).map(([file, { gpus }]) => [file, gpus]),
    );
    expect(gpus["configs/qwen2.5-0.5b-1gpu.yaml"]).toEqual([1, 1]);
    expect(gpus["configs/qwen2.5-32b-2x8gpu.yaml"]).toEqual([2, 8]);
    for (const [file, { lora }] of Object.entries(composed)) {
      expect(Number(lora) > 0, file).toBe(file.includes("lora"));
    }
  });
});

/** What the jobs "check" and "train" get of such a run, as far as veRL's configuration goes. */
function paramsOf(file: string): Record<string, unknown> {
  const config = resolveConfig({ config: file, cwd: root, name: "check" });
  assertBatches(config);
  const { agent, environment, added, deleted } = config.verl;
  return {
    runDir: config.runDir,
    genenv: config.genenv,
    verl: { agent, environment, added, deleted },
    envModelPath: config.envModelPath,
    hooks: { address: "unix:/none", token: null, remote: null, bundle: null },
    resume: false,
  };
}
