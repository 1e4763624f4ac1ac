import { accept, defineEnvironment, reject } from "genenv";
import { z } from "zod";
import { isHeldOut, sumPrompt } from "./sums.js";

const task = z.object({ prompt: z.string(), groundTruth: z.string() });

/** Asks for a new addition problem, given some that the agent has met, and works out the right answer itself. */
export default defineEnvironment({
  name: "sums",
  task,

  prompt({ seeds, targetSuccess }) {
    const examples = seeds.map((seed) => seed.task.prompt.replace(/^What is (.*)\?$/, "$1"));
    const rates = seeds.flatMap(({ successRate }) => (successRate === null ? [] : [successRate]));
    const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
    const wish = !(Math.abs(mean - targetSuccess) > 0.1)
      ? "about as hard"
      : mean > targetSuccess
        ? "a little harder, with bigger numbers"
        : "a little easier, with smaller numbers";
    return [
      {
        role: "user",
        content: `Addition problems:\n${examples.join("\n")}\n\nWrite one new addition problem, ${wish}. Write only the problem, such as 4 + 3.`,
      },
    ];
  },

  parse({ answer, seeds }) {
    const found = answer.match(/(\d+)\s*\+\s*(\d+)/);
    if (!found) return [reject("no-sum")];
    const sum = { a: Number(found[1]), b: Number(found[2]) };
    if (sum.a > 999 || sum.b > 999) return [reject("too-big")];
    if (isHeldOut(sum)) return [reject("held-out")];
    const prompt = sumPrompt(sum);
    if (seeds.some((seed) => seed.task.prompt === prompt)) return [reject("copied-a-seed")];
    return [accept({ prompt, groundTruth: String(sum.a + sum.b) })];
  },
});
