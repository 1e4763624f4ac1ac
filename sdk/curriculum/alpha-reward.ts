export interface AlphaRewardOptions {
  /** Target success rate (α), in (0, 1). */
  alpha: number;
  /** Sharpness (β), above 0. */
  beta: number;
}

/**
 * R = exp(-β (p̂ - α)²): 1 where the agent succeeds exactly as often as targeted, less the further off.
 * `successRate` is p̂, from 0 to 1. GenEnv, arXiv 2512.19682.
 */
export function alphaReward(successRate: number, { alpha, beta }: AlphaRewardOptions): number {
  return Math.exp(-beta * (successRate - alpha) ** 2);
}

/**
 * The reward of one environment answer from its tasks' success rates: 0 without a valid task, the mean over
 * the tasks that were scored, and null where none was: such an answer is left out of the update.
 */
export function answerReward(
  successRates: readonly (number | null)[],
  alpha: number,
  beta: number,
): number | null {
  if (successRates.length === 0) return 0;
  const scored = successRates.filter((rate) => rate !== null);
  if (scored.length === 0) return null;
  const rewards = scored.map((rate) => alphaReward(rate, { alpha, beta }));
  return rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
}
