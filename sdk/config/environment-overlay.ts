import type { GenenvConfig } from "./schema.js";
import { getAt, mergeTrees, type Tree, withAt } from "./tree.js";

const keys = {
  batch: "data.train_batch_size",
  mini: "actor_rollout_ref.actor.ppo_mini_batch_size",
  n: "actor_rollout_ref.rollout.n",
} as const;

/** veRL's keys for rows of one forward pass, on one device. */
export const microBatchKeys: readonly string[] = [
  "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu",
  "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu",
  "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu",
];

/**
 * The environment role's veRL keys: the agent's with genenv.env laid over them. A prompt's answers are its group
 * (rollout.n), and what genenv.env doesn't name is sized to it: as many prompts as give the agent's batch of tasks
 * at one task an answer, one mini-batch of them all, and the largest micro-batches that divide it.
 */
export function toEnvironmentOverlay(agent: Tree, genenv: GenenvConfig, agentBatch: number): Tree {
  const answers = genenv.num_generations_per_prompt;
  const named = (key: string): unknown => getAt(genenv.env, key.split("."));
  const prompts = named(keys.batch) ?? Math.max(1, Math.floor(agentBatch / answers));
  const mini = named(keys.mini) ?? prompts;
  const sized = [
    [keys.n, answers],
    [keys.batch, prompts],
    [keys.mini, mini],
  ] as const;
  const overlay = sized.reduce(
    (tree, [key, value]) => withAt(tree, key.split("."), value),
    mergeTrees(agent, genenv.env),
  );
  return microBatchKeys.reduce((tree, key) => {
    const inherited = getAt(agent, key.split("."));
    if (typeof inherited !== "number" || named(key) !== undefined) return tree;
    return withAt(tree, key.split("."), largestDivisor(Number(mini) * answers, inherited));
  }, overlay);
}

/** The largest divisor of `number` up to `limit`; 1 where there is none. */
export function largestDivisor(number: number, limit: number): number {
  for (let divisor = Math.min(number, Math.floor(limit)); divisor > 1; divisor--) {
    if (number % divisor === 0) return divisor;
  }
  return 1;
}
