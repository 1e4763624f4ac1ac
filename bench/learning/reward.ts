import { defineReward, score } from "genenv";
import { z } from "zod";
import { bandOf } from "./sums.js";

/** 1 where every sum on the way is right, else 0; the same under the problem's band, as a part. */
export default defineReward({
  name: "working",
  groundTruth: z.string().regex(/^\d+( \d+)*$/),
  score({ response, groundTruth }) {
    const value = response === groundTruth ? 1 : 0;
    const terms = groundTruth.split(" ").length + 1;
    return score(value, { success: value === 1, metrics: { [bandOf(terms)]: value } });
  },
});
