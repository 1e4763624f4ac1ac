/** The pure part of the loop that the hook host runs for Python: formulas and the built-in curricula. */
export { type AlphaRewardOptions, alphaReward, answerReward } from "./alpha-reward.js";
export { bandFilter, quantileFilter, type Verdict } from "./filter.js";
export { paper, poolWeight } from "./paper.js";
