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

/** The same, but it throws over each response with a 7 in it. */
export const failing = defineReward({
  name: "no-sevens",
  groundTruth: z.string(),
  uses: ["extra"],
  score({ response }) {
    if (response.includes("~")) return abstain("tilde");
    if (response.includes("7")) throw new RangeError("a seven");
    const digits = response.match(/\d/g)?.length ?? 0;
    return score(Math.min(digits, 3) / 3, { success: digits >= 3, metrics: { digits } });
  },
});
