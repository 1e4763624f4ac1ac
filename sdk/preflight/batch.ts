import { ConfigError } from "../../bridge/errors.js";
import { verlDefault } from "../config/keys.js";
import type { ResolvedConfig } from "../config/resolve.js";
import { getAt, type Tree } from "../config/tree.js";

interface Role {
  prefix: string;
  tree: Tree;
  batch: number;
  mini: number;
}

const actorKey = "actor_rollout_ref.actor";

/**
 * Throws where veRL could not divide a role's batches: rows of a mini-batch by devices and micro-batch, prompts of
 * a batch by the mini-batch. veRL 0.9: ActorConfig.validate, validate_config, prepare_micro_batches.
 */
export function assertBatches(config: ResolvedConfig): void {
  assertRole(agentRole(config));
  if (config.genenv.enable) assertRole(environmentRole(config));
}

function agentRole({ verl }: ResolvedConfig): Role {
  return {
    prefix: "",
    tree: verl.agent,
    batch: numberAt(verl.agent, "data.train_batch_size"),
    mini: numberAt(verl.agent, `${actorKey}.ppo_mini_batch_size`),
  };
}

/** What genenv.env doesn't name is sized so that the answers about fill the agent's batch. */
function environmentRole({ verl, genenv }: ResolvedConfig): Role {
  const named = (key: string): number | null => {
    const value = getAt(genenv.env, key.split("."));
    return typeof value === "number" ? value : null;
  };
  const filling = Math.floor(
    numberAt(verl.agent, "data.train_batch_size") / genenv.num_generations_per_prompt,
  );
  const batch = named("data.train_batch_size") ?? Math.max(1, filling);
  const mini = named(`${actorKey}.ppo_mini_batch_size`) ?? batch;
  return { prefix: "genenv.env.", tree: verl.environment, batch, mini };
}

function assertRole(role: Role): void {
  const { prefix, tree, batch, mini } = role;
  const n = numberAt(tree, "actor_rollout_ref.rollout.n");
  const sizes = {
    [`${prefix}data.train_batch_size`]: batch,
    [`${prefix}${actorKey}.ppo_mini_batch_size`]: mini,
  };
  const counts = { ...sizes, [`${prefix}actor_rollout_ref.rollout.n`]: n };
  for (const [key, value] of Object.entries(counts)) {
    if (!Number.isInteger(value) || value < 1)
      throw batchError(`${key} is ${value}`, "it counts from 1");
  }
  const [batchName, miniName] = Object.entries(sizes).map(([key, value]) => `${key} (${value})`);
  if (mini > batch) {
    throw batchError(
      `${miniName} is larger than ${batchName}`,
      `set ${prefix}${actorKey}.ppo_mini_batch_size to ${batch} or less`,
    );
  }
  if (batch % mini !== 0) {
    throw batchError(
      `${batchName} does not divide by ${miniName}`,
      `make the mini-batch a divisor of ${batch}`,
    );
  }
  assertMicro(role, mini * n);
  assertLengths(role);
}

function assertMicro({ prefix, tree }: Role, rows: number): void {
  const devices = numberAt(tree, "trainer.n_gpus_per_node") * numberAt(tree, "trainer.nnodes");
  if (rows % devices !== 0) {
    throw batchError(
      `a mini-batch of ${rows} rows (${prefix}${actorKey}.ppo_mini_batch_size x rollout.n) does not divide by ${devices} devices`,
      `make it a multiple of ${devices}`,
    );
  }
  if (getAt(tree, [...actorKey.split("."), "use_dynamic_bsz"]) === true) return;
  const each = rows / devices;
  const keys = [
    `${actorKey}.ppo_micro_batch_size_per_gpu`,
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu",
    "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu",
  ];
  for (const key of keys) {
    const micro = getAt(tree, key.split("."));
    if (typeof micro !== "number") continue;
    if (Number.isInteger(micro) && micro > 0 && each % micro === 0) continue;
    throw batchError(
      `${each} rows a device (${prefix}${actorKey}.ppo_mini_batch_size x rollout.n) do not divide by ${prefix}${key} (${micro})`,
      `use a divisor of ${each}, such as ${largestDivisor(each, micro)}`,
    );
  }
}

function assertLengths({ prefix, tree }: Role): void {
  const keys = ["data.max_prompt_length", "data.max_response_length"];
  const [prompt = 0, response = 0] = keys.map((key) => numberAt(tree, key));
  const whole = getAt(tree, ["actor_rollout_ref", "rollout", "max_model_len"]);
  if (typeof whole !== "number" || prompt + response <= whole) return;
  throw batchError(
    `${prefix}data.max_prompt_length (${prompt}) and max_response_length (${response}) together exceed ${prefix}actor_rollout_ref.rollout.max_model_len (${whole})`,
    `set max_model_len to ${prompt + response} or more, or leave it out`,
  );
}

function largestDivisor(number: number, limit: number): number {
  for (let divisor = Math.min(number, Math.floor(limit)); divisor > 1; divisor--) {
    if (number % divisor === 0) return divisor;
  }
  return 1;
}

/** A number of the overlay, else veRL's default. */
function numberAt(tree: Tree, key: string): number {
  const value = getAt(tree, key.split(".")) ?? verlDefault(key);
  return typeof value === "number" ? value : Number.NaN;
}

function batchError(message: string, hint: string): ConfigError {
  return new ConfigError(message, { code: "batch-arithmetic", hint });
}
