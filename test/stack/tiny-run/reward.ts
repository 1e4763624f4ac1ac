import { abstain, defineReward, score } from "genenv";
import { z } from "zod";

/**
 * What a 1 M-parameter model that was never trained can meet about half the time: three digits among its characters.
 * A response with a "~" abstains, so that a run has groups of every size.
 */
export default defineReward({
  name: "three-digits",
  groundTruth: z.string(),
  score({ response }) {
    if (response.includes("~")) return abstain("tilde");
    const digits = response.match(/\d/g)?.length ?? 0;
    return score(Math.min(digits, 3) / 3, { success: digits >= 3, metrics: { digits } });
  },
});
