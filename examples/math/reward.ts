import { defineReward, score, weighted } from "genenv";
import { math } from "genenv/graders";
import { z } from "zod";

/** 1 where the final answer has the ground truth's value, in a box or after "the answer is"; only this is success. */
const correct = defineReward({
  name: "correct",
  groundTruth: z.string().min(1),
  score({ response, groundTruth }) {
    const grade = math(
      { response, groundTruth },
      { extract: ["boxed", "answer-is", "last-number"] },
    );
    return score(grade.score, { success: grade.score === 1 });
  },
});

/** 1 where the response has a box that closes: a model that never writes one gets a reason to begin. */
const format = defineReward({
  name: "format",
  groundTruth: z.string(),
  score: ({ response }) => (/\\boxed\{[^{}]+(\{[^{}]*\}[^{}]*)*\}/.test(response) ? 1 : 0),
});

/** 0.8 for the right answer, 0.2 for the box. */
export default weighted({ correct: 0.8, format: 0.2 }, { correct, format });
