/** The pure part of the loop that the hook host runs for Python: formulas and the built-in curricula. */
import { answerReward } from "./alpha-reward.js";
import { majorityLabel } from "./majority.js";

export { type AlphaRewardOptions, alphaReward, answerReward } from "./alpha-reward.js";
export { bandFilter, quantileFilter, type Verdict } from "./filter.js";
export { majorityLabel, type Vote } from "./majority.js";
export { paper, poolWeight } from "./paper.js";

/** What the loop asks for through the hook plane. */
export const algorithms = { answerReward, majorityLabel };
