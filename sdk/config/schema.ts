import { z } from "zod";

const maxInt = 2 ** 31 - 1;

const hookModule = z.string().min(1).nullable();

const hooksSchema = z.strictObject({
  reward: hookModule
    .default(null)
    .describe(
      "The reward: a TypeScript or JavaScript file (`./reward.ts`, its default export), a named export of one (`./hooks.ts#reward`), or a grader that comes along (`builtin:math`).",
    ),
  environment: hookModule
    .default(null)
    .describe(
      "The environment hook (prompt, parse, agentPrompt): a file, written as for `reward`.",
    ),
  curriculum: z
    .string()
    .min(1)
    .default("builtin:paper")
    .describe(
      "Which tasks join the pool: `builtin:paper` (filtering_mode and filtering_k), or a file.",
    ),
  scoring: z
    .enum(["batch", "overlap"])
    .default("batch")
    .describe(
      "When rewards are computed: `batch`, all responses once the rollout ends, which is faster where a reward takes no time; `overlap`, each by veRL's reward workers while others still generate, for rewards that wait (a judge, a sandbox).",
    ),
  placement: z
    .enum(["driver", "node"])
    .default("driver")
    .describe(
      "Where hooks run on a cluster (`genenv.ray_address`): `driver`, on this machine, which reward workers on other nodes reach over TCP with a token; `node`, on every node, each scoring a share (Node.js has to be on it).",
    ),
  address: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe(
      "Where this machine's hooks listen for other nodes of a cluster, `host` or `host:port`. null takes the address that this machine's route to the cluster's head starts from, and a free port.",
    ),
  timeout_ms: z
    .int()
    .min(1)
    .max(3_600_000)
    .default(5_000)
    .describe("The longest that a hook may take over one sample, in milliseconds."),
  batch_timeout_ms: z
    .int()
    .min(1)
    .max(86_400_000)
    .default(120_000)
    .describe("The longest that one batch of hook calls may take, in milliseconds."),
  heap_mb: z
    .int()
    .min(16)
    .max(65_536)
    .default(256)
    .describe("The heap limit of a hook worker, in MiB. A worker over it dies alone."),
  concurrency: z
    .int()
    .min(1)
    .max(1024)
    .default(16)
    .describe(
      "Samples that an async hook may have under way at once (a reward's own `concurrency` wins).",
    ),
  on_failure: z
    .enum(["abstain", "zero", "stop"])
    .default("abstain")
    .describe(
      "What a failed score becomes: `abstain` leaves the response out of p̂ and of its group; `zero` makes it a reward of 0; `stop` ends the run at the first failure of a reward or of a parse hook, with everything before it saved.",
    ),
  max_failure_rate: z
    .number()
    .min(0)
    .max(1)
    .default(0.1)
    .describe(
      "The share of a batch's calls of the reward, or of the parse hook, that may fail before the run stops with its state saved, from 0 to 1.",
    ),
});

const poolSchema = z.strictObject({
  cap: z
    .int()
    .min(0)
    .max(10_000_000)
    .default(10_000)
    .describe(
      "Tasks the pool holds at most; over it, the task with the lowest weight leaves, the oldest of equals. 0 keeps none: each epoch has new tasks and seeds only.",
    ),
  near_duplicate: z
    .number()
    .gt(0)
    .max(1)
    .default(0.9)
    .describe(
      "Similarity from which a task is taken for a copy of one in the pool and doesn't join it, above 0 to 1: the share of three-letter pieces that two prompts have in common, and 0 where their numbers or signs differ. 1 takes only prompts for copies that are equal but for case and spaces.",
    ),
  seed_fraction: z
    .number()
    .min(0)
    .max(1)
    .default(0.5)
    .describe(
      "How the rest of an agent batch is filled: this epoch's accepted tasks come first, then those that found no place before; of the places they leave, this share goes to seed data (data.train_files), the others to tasks drawn from the pool by weight. Where the pool has too few, seeds take their places.",
    ),
});

const column = z.string().min(1);

const dataSchema = z.strictObject({
  ground_truth_key: column
    .nullable()
    .default(null)
    .describe(
      "Column of the ground truth, or a field within one (`meta.answer`). null takes `reward_model.ground_truth`, `ground_truth` or `answer`, the first that is there. The prompt's column is veRL's `data.prompt_key`, the data source's `data.reward_fn_key`.",
    ),
  extra_keys: z
    .array(column)
    .default([])
    .describe(
      "Further columns that go to the hooks' `extra`, beside what `extra_info` holds, each under its own name.",
    ),
});

/** The `genenv:` section. Names are the paper's and the Python GenEnv's; units are in the docs of each key. */
export const genenvSchema = z.strictObject({
  enable: z
    .boolean()
    .default(true)
    .describe(
      "false trains the agent alone: plain GRPO on data.train_files, no environment model.",
    ),
  filtering_k: z
    .number()
    .min(0)
    .max(1)
    .default(0.1)
    .describe(
      "Width of the curriculum's filter, from 0 to 1. `band`: keep tasks with |p̂ - alpha| <= filtering_k. `quantile`: drop this share of the batch at the easy and at the hard end.",
    ),
  filtering_mode: z
    .enum(["band", "quantile"])
    .default("band")
    .describe("`band` is the paper's filter, `quantile` the Python GenEnv's."),
  num_generations_per_prompt: z
    .int()
    .min(1)
    .max(1024)
    .default(4)
    .describe("Answers that the environment model gives to each environment prompt."),
  alpha: z
    .number()
    .gt(0)
    .lt(1)
    .default(0.5)
    .describe("Target success rate of the agent on generated tasks (α), between 0 and 1."),
  beta: z
    .number()
    .gt(0)
    .max(1000)
    .default(5)
    .describe("Sharpness of the environment reward R = exp(-beta (p̂ - alpha)²) (β), above 0."),
  lambda: z
    .number()
    .min(0)
    .max(100)
    .default(5)
    .describe(
      "Sharpness of reward-weighted regression (λ): an answer's weight grows as exp(lambda R). 0 weighs all answers alike.",
    ),
  env_update: z
    .enum(["rwr", "grpo", "none"])
    .default("rwr")
    .describe(
      "How the environment model learns: `rwr`, regression on its own answers weighted by R; `grpo`, GRPO with R as the reward; `none`, not at all.",
    ),
  env: z
    .record(z.string(), z.unknown())
    .default({})
    .describe(
      "veRL keys for the environment role, laid over the agent's: genenv.env.actor_rollout_ref.actor.optim.lr. What is not named here is as for the agent.",
    ),
  labels: z
    .enum(["environment", "majority"])
    .default("environment")
    .describe(
      "Where a ground truth comes from when a task has none (groundTruth null): `environment` rejects such a task, `majority` takes the agent's most frequent answer (the reward has to have an `extract`).",
    ),
  label_agreement: z
    .number()
    .min(0)
    .max(1)
    .default(0.5)
    .describe(
      "With `labels: majority`, the least share of a task's responses that must give the same answer; below it the task has no label (`low-agreement`).",
    ),
  success_threshold: z
    .number()
    .default(1)
    .describe("A score whose `success` is null counts as a success from this value on."),
  data: dataSchema.prefault({}).describe("Where the data files keep what."),
  hooks: hooksSchema.prefault({}).describe("Your TypeScript, and the limits it runs under."),
  pool: poolSchema.prefault({}).describe("The pool of kept tasks that grows over epochs."),
  keep_best: z
    .boolean()
    .default(false)
    .describe(
      "Keep, besides the last `trainer.max_actor_ckpt_to_keep` checkpoints, the one with the highest val/success_rate (`trainer.test_freq` says which epochs are validated).",
    ),
  seed: z
    .int()
    .min(0)
    .max(maxInt)
    .default(0)
    .describe(
      "Seed of every random draw that genenv makes (seed data, pool, environment prompts).",
    ),
  device: z
    .enum(["auto", "cpu", "cuda"])
    .default("auto")
    .describe("Where models run. `auto` is cuda where a GPU is visible, else cpu."),
  share_gpus: z
    .boolean()
    .default(false)
    .describe(
      "Both roles on the same GPUs, by turns: the one that waits has its rollout engine asleep and its weights and optimiser in main memory. false gives each role GPUs of its own. With one model for both roles (env_model_path: agent) it has no effect.",
    ),
  gpu_memory_gib: z
    .number()
    .gt(0)
    .max(100_000)
    .nullable()
    .default(null)
    .describe(
      "Memory of one GPU in GiB, by which `check` estimates whether weights, optimiser, KV cache and activations fit. null asks the GPU here (nvidia-smi); without one the estimate is left out.",
    ),
  fast_start: z
    .boolean()
    .default(true)
    .describe(
      "Start Ray's and vLLM's processes from one that has their imports loaded already (Linux): minutes less on few cores. false starts each on its own.",
    ),
  ray_address: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe(
      "A running Ray cluster to join, from a machine that is a node of it: its head as `host:6379`, or `auto`. null starts one on this machine.",
    ),
});

/** The `genenv:` section with every default filled in. */
export type GenenvConfig = z.output<typeof genenvSchema>;

/** The `genenv:` section as a user writes it. */
export type GenenvConfigInput = z.input<typeof genenvSchema>;

/** A whole configuration as a program writes it: genenv's own keys, and veRL's under veRL's names. */
export interface ConfigInput {
  genenv?: GenenvConfigInput;
  /** A folder, a hub id, `builtin:NAME`, or "agent" for one model in both roles. Default: the agent's model, as a copy of its own. */
  env_model_path?: string | null;
  [verlKey: string]: unknown;
}
