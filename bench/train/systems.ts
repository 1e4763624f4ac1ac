import { join } from "node:path";
import type { Command } from "./timeline.js";

/** One workload, the same for every system: GRPO on one-digit sums, rewards 0 or 1. */
export interface Workload {
  root: string;
  /** The Python with veRL and vLLM in it. */
  python: string;
  /** The name that genenv knows the model by, and its folder. */
  model: { name: string; folder: string };
  prompts: number;
  responses: number;
  steps: number;
  /** A folder of this run's own, with a short path: Ray's sockets lie in it. */
  folder: string;
}

/** Plain veRL's settings: its defaults, or what genenv chooses for a CPU. */
export type Settings = "default" | "ours";

const maxResponseLength = 24;
const learningRate = 2e-5;
const dataOf = (root: string): string => join(root, "examples", "arithmetic", "data");

/** What veRL and genenv are told. */
function common({ root, prompts, responses }: Workload): string[] {
  const data = dataOf(root);
  return [
    `data.train_files=${join(data, "train.parquet")}`,
    `data.val_files=${join(data, "val.parquet")}`,
    `data.train_batch_size=${prompts}`,
    "data.max_prompt_length=96",
    `data.max_response_length=${maxResponseLength}`,
    `actor_rollout_ref.rollout.n=${responses}`,
    `actor_rollout_ref.actor.ppo_mini_batch_size=${prompts}`,
    `actor_rollout_ref.actor.optim.lr=${learningRate}`,
    "actor_rollout_ref.actor.use_kl_loss=False",
    "trainer.val_before_train=False",
  ];
}

/** `genenv run`: with an environment model, or GRPO alone. */
export function genenvRun(
  work: Workload,
  withEnvironment: boolean,
  overrides: readonly string[] = [],
): Command {
  const { root, model, steps, folder } = work;
  return {
    program: process.execPath,
    args: [
      join(root, "dist", "sdk", "cli", "main.js"),
      "run",
      "--json",
      ...["--model", model.name, "--env-model", model.name],
      `genenv.enable=${withEnvironment ? "True" : "False"}`,
      ...common(work),
      `trainer.total_epochs=${steps}`,
      `trainer.default_local_dir=${join(folder, "run")}`,
      ...overrides,
    ],
    env: process.env,
    cwd: root,
  };
}

/** `verl.trainer.main_ppo`, one role and no environment model, as plain_verl.py sets it up. */
export function plainVerl(work: Workload, settings: Settings): Command {
  const { root, python, model, prompts, responses, steps, folder } = work;
  const rows = prompts * responses;
  return {
    program: python,
    args: [
      join(root, "bench", "train", "plain_verl.py"),
      settings,
      ...common(work),
      ...(settings === "ours" ? ourChoices : [`${microBatch}=${rows}`]),
      `actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=${rows}`,
      `actor_rollout_ref.model.path=${model.folder}`,
      `trainer.total_epochs=${steps}`,
      `trainer.total_training_steps=${steps}`,
      `trainer.default_local_dir=${join(folder, "checkpoints")}`,
      `++ray_kwargs.ray_init._temp_dir=${join(folder, "ray")}`,
    ],
    env: { ...process.env, PYTHONPATH: join(root, "py") },
    cwd: folder,
  };
}

/** TRL's GRPOTrainer, in a Python of its own. */
export function trlRun(work: Workload, python: string): Command {
  const { root, model, prompts, responses, steps, folder } = work;
  const settings = {
    model: model.folder,
    data: join(dataOf(root), "train.parquet"),
    ...{ prompts, responses, steps, folder },
    max_response_length: maxResponseLength,
    lr: learningRate,
  };
  return {
    program: python,
    args: [join(root, "bench", "train", "trl_grpo.py"), JSON.stringify(settings)],
    env: { ...process.env, HF_HUB_OFFLINE: "1" },
    cwd: folder,
  };
}

const microBatch = "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu";

/** What genenv chooses beyond the device's settings: micro-batches by tokens, and no pass for the old log-probs. */
const ourChoices = [
  "actor_rollout_ref.actor.use_dynamic_bsz=True",
  "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=1024",
  "actor_rollout_ref.rollout.calculate_log_probs=True",
  "algorithm.rollout_correction.bypass_mode=True",
];
