import { defineReward, score } from "genenv";
import { webActions } from "genenv/graders";
import { z } from "zod";

/** 1 for exactly the wanted action, 0.2 for another action that can be read, 0 for none. */
export default defineReward({
  name: "web-action",
  groundTruth: z.string().regex(/^[a-z_]+\(.*\)$/, "is no action"),
  score({ response, groundTruth }) {
    const grade = webActions({ response, groundTruth });
    const success = grade.score === 1;
    const readable = grade.extracted !== null && !grade.extracted.includes("; ");
    return score(success ? 1 : readable ? 0.2 : 0, { success });
  },
});
