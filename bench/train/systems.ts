import { cpus } from "node:os";
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
  /** A folder of this run's own, with a short path. */
  folder: string;
}

const lengths = ["data.max_prompt_length=96", "data.max_response_length=24"];

/** What both systems are told. */
function common({ root, prompts, responses }: Workload): string[] {
  const data = join(root, "examples", "arithmetic", "data");
  return [
    `data.train_files=${join(data, "train.parquet")}`,
    `data.val_files=${join(data, "val.parquet")}`,
    `data.train_batch_size=${prompts}`,
    ...lengths,
    `actor_rollout_ref.rollout.n=${responses}`,
    `actor_rollout_ref.actor.ppo_mini_batch_size=${prompts}`,
    "actor_rollout_ref.actor.optim.lr=2e-5",
    "trainer.val_before_train=False",
  ];
}

/** `genenv run`: with an environment model, or GRPO alone. */
export function genenvRun(work: Workload, withEnvironment: boolean): Command {
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
    ],
    env: process.env,
    cwd: root,
  };
}

/**
 * Plain `python -m verl.trainer.main_ppo`. What it is given beyond veRL's defaults is what a CPU needs to run it at all
 * (the platform comes from genenv's plugin); with `tuned`, genenv's choices too.
 */
export function plainVerl(work: Workload, tuned: boolean): Command {
  const { root, python, model, prompts, responses, steps, folder } = work;
  const rows = prompts * responses;
  return {
    program: python,
    args: [
      ...["-m", "verl.trainer.main_ppo"],
      ...common(work),
      "algorithm.adv_estimator=grpo",
      `actor_rollout_ref.model.path=${model.folder}`,
      "actor_rollout_ref.model.use_remove_padding=False",
      "+actor_rollout_ref.model.override_config.attn_implementation=sdpa",
      "actor_rollout_ref.actor.strategy=fsdp2",
      "actor_rollout_ref.actor.use_torch_compile=False",
      "actor_rollout_ref.actor.use_kl_loss=False",
      `actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=${rows}`,
      "actor_rollout_ref.rollout.name=vllm",
      "actor_rollout_ref.rollout.tensor_model_parallel_size=1",
      "actor_rollout_ref.rollout.enforce_eager=True",
      "actor_rollout_ref.rollout.free_cache_engine=False",
      "+actor_rollout_ref.rollout.enable_sleep_mode=False",
      "actor_rollout_ref.rollout.load_format=auto",
      "actor_rollout_ref.rollout.agent.num_workers=1",
      ...(tuned ? tunedKeys : [`actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=${rows}`]),
      `reward.custom_reward_function.path=${join(root, "bench", "train", "sums_reward.py")}`,
      "reward.custom_reward_function.name=compute_score",
      "reward.num_workers=1",
      "transfer_queue.backend.SimpleStorage.num_data_storage_units=1",
      "data.dataloader_num_workers=0",
      "trainer.device=cpu",
      "trainer.n_gpus_per_node=1",
      "trainer.nnodes=1",
      `trainer.total_epochs=${steps}`,
      `trainer.total_training_steps=${steps}`,
      "trainer.logger=[console]",
      "trainer.save_freq=-1",
      "trainer.test_freq=-1",
      `trainer.default_local_dir=${join(folder, "checkpoints")}`,
      "ray_kwargs.ray_init.num_cpus=64",
      "+ray_kwargs.ray_init.num_gpus=1",
      "+ray_kwargs.ray_init.include_dashboard=False",
      `+ray_kwargs.ray_init._temp_dir=${join(folder, "ray")}`,
    ],
    env: plainEnvironment(root, tuned),
    cwd: folder,
  };
}

/** What genenv chooses for a CPU: py/genenv/device.py and configs/genenv_config.yaml. */
const tunedKeys = [
  "actor_rollout_ref.model.enable_gradient_checkpointing=False",
  "actor_rollout_ref.actor.use_dynamic_bsz=True",
  "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=1024",
  "actor_rollout_ref.rollout.calculate_log_probs=True",
  "algorithm.rollout_correction.bypass_mode=True",
  "+actor_rollout_ref.rollout.engine_kwargs.vllm.distributed_executor_backend=uni",
];

function plainEnvironment(root: string, tuned: boolean): NodeJS.ProcessEnv {
  return {
    ...process.env,
    PYTHONPATH: join(root, "py"),
    VERL_PLATFORM: "cpu",
    VERL_ENGINE_DEVICE: "cuda",
    VERL_USE_EXTERNAL_MODULES: "genenv.plugin",
    VLLM_CPU_KVCACHE_SPACE: "1",
    VLLM_CPU_OMP_THREADS_BIND: "nobind",
    OMP_NUM_THREADS: String(cpus().length),
    RAY_USAGE_STATS_ENABLED: "0",
    VLLM_NO_USAGE_STATS: "1",
    WANDB_MODE: "offline",
    ...(tuned && { VLLM_ENABLE_V1_MULTIPROCESSING: "0", OMP_WAIT_POLICY: "PASSIVE" }),
  };
}
