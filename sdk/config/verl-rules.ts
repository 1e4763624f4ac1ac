import type { Tree } from "./tree.js";

/** What genenv sets under a user's configuration where veRL's own default would not do. */
export const verlBase: Tree = {
  algorithm: { adv_estimator: "grpo" },
  actor_rollout_ref: { rollout: { name: "vllm", tensor_model_parallel_size: 1 } },
  trainer: {
    project_name: "genenv",
    logger: ["console"],
    n_gpus_per_node: 1,
    resume_mode: "disable",
  },
};

export interface RefusedKey {
  /** A dotted veRL key; everything below it is meant too. */
  key: string;
  /** Why it can have no effect here, and what does. */
  reason: string;
  /** Only in one role's keys; both when absent. */
  role?: "agent" | "environment";
  /** Only these values are refused; all when absent. */
  refuses?: (value: unknown) => boolean;
}

// Estimators that need nothing but the group's rewards.
const groupEstimators = new Set([
  "grpo",
  "grpo_vectorized",
  "grpo_passk",
  "rloo",
  "rloo_vectorized",
  "opo",
  "gpg",
  "reinforce_plus_plus",
  "reinforce_plus_plus_baseline",
]);

const not =
  (...allowed: unknown[]) =>
  (value: unknown): boolean =>
    !allowed.includes(value);

const oneLoop = "one loop drives both roles; set it without genenv.env";

/** veRL keys that can have no effect here: naming one is an error, so that nobody waits for it to work. */
export const refusedKeys: readonly RefusedKey[] = [
  { key: "critic", reason: "genenv trains without a critic: advantages come from the group" },
  { key: "trainer.critic_warmup", reason: "genenv trains without a critic" },
  { key: "trainer.max_critic_ckpt_to_keep", reason: "genenv trains without a critic" },
  {
    key: "algorithm.adv_estimator",
    role: "agent",
    refuses: (value) => !groupEstimators.has(String(value)),
    reason: `the agent's advantage has to come from its group: ${[...groupEstimators].join(", ")}`,
  },
  {
    key: "algorithm.adv_estimator",
    role: "environment",
    reason: "genenv.env_update (rwr, grpo, none) decides how the environment model learns",
  },
  {
    key: "actor_rollout_ref.actor.policy_loss.loss_mode",
    role: "environment",
    reason: "genenv.env_update (rwr, grpo, none) decides how the environment model learns",
  },
  {
    key: "algorithm.filter_groups.metric",
    refuses: not("reward", "acc"),
    reason: "a group has signal where its rewards differ (reward), or its successes (acc)",
  },
  {
    key: "algorithm.filter_groups.max_inflight_gen_batches",
    refuses: not(1),
    reason: "one batch is rolled out at a time",
  },
  {
    key: "algorithm.filter_groups",
    role: "environment",
    reason:
      "the environment's answers are not refilled: each prompt's group is trained on as it is",
  },
  {
    key: "actor_rollout_ref.rollout.n",
    role: "environment",
    reason: "genenv.num_generations_per_prompt says how many answers a prompt gets",
  },
  {
    key: "actor_rollout_ref.model.path",
    role: "environment",
    reason: "env_model_path (or --env-model) names the environment's model",
  },
  {
    key: "actor_rollout_ref.rollout.name",
    refuses: not("vllm"),
    reason: "genenv generates with vLLM",
  },
  {
    key: "actor_rollout_ref.rollout.mode",
    refuses: not("async"),
    reason: "veRL's V1 trainer rolls out in mode async only",
  },
  {
    key: "actor_rollout_ref.hybrid_engine",
    refuses: not(true),
    reason: "actor and rollout share their devices in genenv",
  },
  { key: "distillation", reason: "genenv has no teacher model" },
  { key: "model_engine", refuses: not("dp"), reason: "genenv trains with FSDP (model_engine=dp)" },
  { key: "trainer.v1", reason: "genenv drives veRL's V1 trainer itself" },
  { key: "trainer.use_v1", refuses: not(true), reason: "genenv is built on veRL's V1 trainer" },
  {
    key: "trainer.device",
    reason: "genenv.device (auto, cpu, cuda) says where models run",
  },
  {
    key: "trainer.total_training_steps",
    reason: "trainer.total_epochs counts the epochs, and each epoch is one step of each role",
  },
  { key: "trainer.rollout_data_dir", reason: "rollouts are always kept in the run's rollouts/" },
  { key: "trainer.validation_data_dir", reason: "rollouts are always kept in the run's rollouts/" },
  { key: "trainer.log_val_generations", reason: "rollouts are always kept in the run's rollouts/" },
  { key: "trainer.val_only", refuses: not(false), reason: "a run trains" },
  { key: "trainer.esi_redundant_time", reason: "genenv saves by trainer.save_freq and at the end" },
  { key: "trainer.default_hdfs_dir", reason: "checkpoints go to the run's folder" },
  { key: "trainer.checkpoint_callback_class", reason: "checkpoint events are in the run's events" },
  {
    key: "reward.reward_manager",
    reason: "genenv.hooks.reward scores (or reward.custom_reward_function.path, in Python)",
  },
  { key: "reward.reward_model", reason: "genenv.hooks.reward scores; call your model from it" },
  { key: "reward.sandbox_fusion", reason: "genenv.hooks.reward scores; call the sandbox from it" },
  { key: "reward_model", reason: "veRL's old name: genenv.hooks.reward scores" },
  { key: "sandbox_fusion", reason: "veRL's old name: genenv.hooks.reward scores" },
  {
    key: "custom_reward_function",
    reason: "veRL's old name: use reward.custom_reward_function, or genenv.hooks.reward",
  },
  { key: "data.custom_cls", reason: "genenv reads the data files itself" },
  { key: "data.gen_batch_size", reason: "a batch is rolled out once, whole" },
  { key: "data.val_batch_size", reason: "veRL validates on all rows at once" },
  { key: "data.dataloader_num_workers", reason: "genenv reads the data files itself" },
  { key: "data.train_files", role: "environment", reason: oneLoop },
  { key: "data.val_files", role: "environment", reason: oneLoop },
  { key: "trainer.total_epochs", role: "environment", reason: oneLoop },
  { key: "trainer.save_freq", role: "environment", reason: oneLoop },
  { key: "trainer.test_freq", role: "environment", reason: oneLoop },
  { key: "trainer.logger", role: "environment", reason: oneLoop },
  { key: "trainer.default_local_dir", role: "environment", reason: oneLoop },
  { key: "trainer.experiment_name", role: "environment", reason: oneLoop },
  { key: "trainer.project_name", role: "environment", reason: oneLoop },
  { key: "trainer.resume_mode", role: "environment", reason: oneLoop },
  { key: "trainer.max_actor_ckpt_to_keep", role: "environment", reason: oneLoop },
  { key: "trainer.val_before_train", role: "environment", reason: oneLoop },
  {
    key: "trainer.resume_mode",
    refuses: not("disable", "auto"),
    reason: "a run goes on from its newest complete checkpoint (auto), or not at all (disable)",
  },
  {
    key: "trainer.resume_from_path",
    refuses: (value) => value !== null,
    reason: "a run goes on from its newest complete checkpoint",
  },
];

/** veRL keys whose values are paths; they are made absolute. */
export const pathKeys: readonly string[] = [
  "data.train_files",
  "data.val_files",
  "actor_rollout_ref.model.tokenizer_path",
  "actor_rollout_ref.model.hf_config_path",
  "actor_rollout_ref.model.lora_adapter_path",
  "actor_rollout_ref.rollout.multi_turn.tool_config_path",
  "actor_rollout_ref.rollout.multi_turn.function_tool_path",
  "actor_rollout_ref.rollout.agent.agent_loop_config_path",
  "reward.custom_reward_function.path",
  "trainer.default_local_dir",
  "trainer.resume_from_path",
];
