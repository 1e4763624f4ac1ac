import { abstain, defineReward } from "genenv";
import { z } from "zod";

/** The share of lower-case letters; a response without any letter is left out. */
export default defineReward({
  name: "lower-case",
  groundTruth: z.string(),
  score: ({ response }) => {
    const letters = response.match(/[A-Za-z]/g) ?? [];
    if (letters.length === 0) return abstain("no letters");
    return letters.filter((letter) => letter === letter.toLowerCase()).length / letters.length;
  },
});
