import { ConfigError } from "../../bridge/errors.js";
import { largestDivisor, microBatchKeys } from "../config/environment-overlay.js";
import { verlDefault } from "../config/keys.js";
import type { ResolvedConfig } from "../config/resolve.js";
import { getAt, type Tree } from "../config/tree.js";

/** One role's numbers, and how its keys are written. */
interface Role {
  prefix: string;
  tree: Tree;
  config: ResolvedConfig;
}

const keys = {
  batch: "data.train_batch_size",
  mini: "actor_rollout_ref.actor.ppo_mini_batch_size",
  n: "actor_rollout_ref.rollout.n",
  whole: "actor_rollout_ref.rollout.max_model_len",
} as const;

/**
 * Throws where veRL could not divide a role's batches: prompts of a batch by the mini-batch, rows of a mini-batch by
 * devices and micro-batch. veRL 0.9: ActorConfig.validate, validate_config, prepare_micro_batches.
 */
export function assertBatches(config: ResolvedConfig): void {
  const { verl, genenv } = config;
  assertRole({ prefix: "", tree: verl.agent, config });
  if (genenv.enable) assertRole({ prefix: "genenv.env.", tree: verl.environment, config });
}

function assertRole(role: Role): void {
  const [batch, mini, n] = [count(role, keys.batch), count(role, keys.mini), count(role, keys.n)];
  const name = (key: string, value: number): string => `${role.prefix}${key} (${value})`;
  if (mini > batch) {
    throw batchError(role, keys.mini, {
      message: `${name(keys.mini, mini)} is larger than ${name(keys.batch, batch)}`,
      hint: `set ${role.prefix}${keys.mini} to ${batch} or less`,
    });
  }
  if (batch % mini !== 0) {
    throw batchError(role, keys.mini, {
      message: `${name(keys.batch, batch)} does not divide by ${name(keys.mini, mini)}`,
      hint: `make the mini-batch a divisor of ${batch}, such as ${largestDivisor(batch, mini)}`,
    });
  }
  assertDevices(role, mini * n);
  assertLengths(role);
}

function assertDevices(role: Role, rows: number): void {
  const devices = count(role, "trainer.n_gpus_per_node") * count(role, "trainer.nnodes");
  const written = `${role.prefix}${keys.mini} x rollout.n`;
  if (rows % devices !== 0) {
    throw batchError(role, keys.mini, {
      message: `a mini-batch of ${rows} rows (${written}) does not divide by ${devices} devices`,
      hint: `make it a multiple of ${devices}`,
    });
  }
  if (getAt(role.tree, ["actor_rollout_ref", "actor", "use_dynamic_bsz"]) === true) return;
  for (const key of microBatchKeys) assertMicro(role, key, rows / devices);
}

function assertMicro(role: Role, key: string, rows: number): void {
  const micro = getAt(role.tree, key.split("."));
  if (typeof micro !== "number") return;
  if (Number.isInteger(micro) && micro > 0 && rows % micro === 0) return;
  throw batchError(role, key, {
    message: `${rows} rows a device (${role.prefix}${keys.mini} x rollout.n) do not divide by ${role.prefix}${key} (${micro})`,
    hint: `use a divisor of ${rows}, such as ${largestDivisor(rows, micro)}`,
  });
}

function assertLengths(role: Role): void {
  const prompt = count(role, "data.max_prompt_length");
  const response = count(role, "data.max_response_length");
  const whole = getAt(role.tree, keys.whole.split("."));
  if (typeof whole !== "number" || prompt + response <= whole) return;
  throw batchError(role, keys.whole, {
    message: `${role.prefix}data.max_prompt_length (${prompt}) and max_response_length (${response}) together exceed ${role.prefix}${keys.whole} (${whole})`,
    hint: `set max_model_len to ${prompt + response} or more, or leave it out`,
  });
}

/** A whole number from 1 on: the role's own, else veRL's default. */
function count(role: Role, key: string): number {
  const value = getAt(role.tree, key.split(".")) ?? verlDefault(key);
  if (typeof value === "number" && Number.isInteger(value) && value >= 1) return value;
  throw batchError(role, key, {
    message: `${role.prefix}${key} is ${JSON.stringify(value)}`,
    hint: "it takes a whole number from 1 on",
  });
}

function batchError(
  { prefix, config }: Role,
  key: string,
  { message, hint }: { message: string; hint: string },
): ConfigError {
  const place = config.placeOf(`${prefix}${key}`.split(".")) ?? config.placeOf(key.split("."));
  return new ConfigError(message, { code: "batch-arithmetic", hint, place });
}
