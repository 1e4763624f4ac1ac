import { defineReward } from "genenv";
import { z } from "zod";

/** 1 where the last number in the response is the sum, else 0. */
export default defineReward({
  name: "last-number",
  groundTruth: z.string().regex(/^\d+$/),
  score({ response, groundTruth }) {
    const numbers = response.match(/\d+/g);
    return numbers?.at(-1) === groundTruth ? 1 : 0;
  },
});
