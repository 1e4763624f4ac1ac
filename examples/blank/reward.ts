import { defineReward } from "genenv";
import { z } from "zod";

/** What a response is worth: 1 where it is the ground truth, else 0. Write your own here. */
export default defineReward({
  name: "my-reward",
  groundTruth: z.string(),
  score: ({ response, groundTruth }) => (response.trim() === groundTruth ? 1 : 0),
});
