import { accept, defineEnvironment, reject } from "genenv";
import { z } from "zod";
import { isForValidation, maxTerm, maxTerms, question, toText, workingOf } from "./sums.js";

/** Reads a sum and works it out, so its label is right; held-out and development problems are turned away. */
export default defineEnvironment({
  name: "sums",
  task: z.object({ prompt: z.string(), groundTruth: z.string() }),
  prompt: () => [{ role: "user", content: question }],
  parse({ answer }) {
    if (!/^\d+(\+\d+)+$/.test(answer)) return [reject("no-sum")];
    const terms = answer.split("+").map(Number);
    if (terms.length > maxTerms) return [reject("too-long")];
    if (terms.some((term) => term < 1 || term > maxTerm)) return [reject("term-out-of-range")];
    if (isForValidation(toText(terms))) return [reject("held-out")];
    return [accept({ prompt: toText(terms), groundTruth: workingOf(terms) })];
  },
});
