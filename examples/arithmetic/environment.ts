import { accept, defineEnvironment, type Message, reject, type Seed } from "genenv";
import { z } from "zod";
import { isHeldOut, sumPrompt } from "./sums.js";

const task = z.object({ prompt: z.string(), groundTruth: z.string() });

/** What the next problem should be like, from how often the agent solves the ones shown. */
function wishFor(seeds: readonly Seed<unknown>[], targetSuccess: number): string {
  const rates = seeds.flatMap(({ successRate }) => (successRate === null ? [] : [successRate]));
  if (rates.length === 0) return "";
  const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
  if (Math.abs(mean - targetSuccess) <= 0.1) return "";
  return mean > targetSuccess
    ? ", a little harder, with bigger numbers"
    : ", a little easier, with smaller numbers";
}

/** Asks for a new addition problem, given some that the agent has met, and works out the right answer itself. */
export default defineEnvironment({
  name: "sums",
  task,

  // Each seed is shown as a turn that the model has answered: a small model goes on with the pattern, where it
  // would talk about a list.
  prompt({ seeds, targetSuccess }) {
    const shown = seeds.flatMap(({ task }): Message[] => [
      { role: "user", content: "Next problem:" },
      { role: "assistant", content: task.prompt.replace(/^What is (.*)\?$/, "$1") },
    ]);
    return [...shown, { role: "user", content: `Next problem${wishFor(seeds, targetSuccess)}:` }];
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
