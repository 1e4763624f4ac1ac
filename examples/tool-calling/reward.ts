import { defineReward, score } from "genenv";
import { toolCalls } from "genenv/graders";
import { z } from "zod";
import { readCall } from "./tools.js";

/** A ground truth: the JSON text of a call that its tool's schema takes. */
export const goldCall = z.string().refine((text) => !("problem" in readCall(text)), {
  error: "is no call that the tools take",
});

/** 1 for the right call; less for a call in the right form, with the right name or some right parameters. */
export default defineReward({
  name: "tool-call",
  groundTruth: goldCall,
  score({ response, groundTruth }) {
    const grade = toolCalls(
      { response, groundTruth },
      { partial: true, extraParameters: "refuse" },
    );
    return score(grade.score, { success: grade.score === 1, metrics: grade.metrics ?? {} });
  },
});
