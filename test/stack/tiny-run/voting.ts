import { accept, defineEnvironment, defineReward, reject, score } from "genenv";
import { z } from "zod";

/** Tasks without a ground truth: the agent's responses vote for one. */
export const unlabelled = defineEnvironment({
  name: "unlabelled",
  // Seeds have one.
  task: z.object({ prompt: z.string(), groundTruth: z.string().nullable() }),
  prompt: ({ seeds }) => [
    { role: "user", content: `Like ${seeds.map((seed) => seed.id).join(" ")}`.slice(0, 60) },
  ],
  parse({ answer }) {
    const letters = answer.replace(/[^a-z]/g, "");
    if (letters.length < 4) return [reject("few-letters")];
    return [accept({ prompt: `Count ${letters}`, groundTruth: null })];
  },
});

/** Whether a response has the ground truth's number of digits, of the three that a vote can be about: 0, 1, or more. */
export default defineReward({
  name: "digits-by-vote",
  groundTruth: z.string(),
  extract: (response) => some(response),
  score: ({ response, groundTruth }) => score(some(response) === groundTruth ? 1 : 0),
});

const some = (response: string): string => {
  const digits = response.match(/\d/g)?.length ?? 0;
  return ["none", "one"][digits] ?? "more";
};
