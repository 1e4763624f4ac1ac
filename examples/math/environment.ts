import { accept, defineEnvironment, type Message, reject, type Seed } from "genenv";
import { math } from "genenv/graders";
import { z } from "zod";
import { isHeldOut, solve, toPrompt, toText } from "./problems.js";

const task = z.object({ prompt: z.string(), groundTruth: z.string().min(1) });

/** What the next problem should be like, from how often the agent solves the ones shown. */
function wishFor(seeds: readonly Seed<unknown>[], targetSuccess: number): string {
  const rates = seeds.flatMap(({ successRate }) => (successRate === null ? [] : [successRate]));
  if (rates.length === 0) return "";
  const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
  if (Math.abs(mean - targetSuccess) <= 0.1) return "";
  return mean > targetSuccess ? ", a little harder" : ", a little easier";
}

/** The problem in an answer, and the answer it claims (null: it claims none). */
function readAnswer(answer: string): { text: string; claimed: string | null } {
  const [first = "", ...rest] = answer.replace(/^\s*Problem:\s*/i, "").split(/\s*\bAnswer:\s*/i);
  const claimed = rest.join(" ").trim().split("\n")[0]?.trim() ?? "";
  return { text: first.trim(), claimed: claimed === "" ? null : claimed };
}

/** True where the grader can read the text as an answer: it has to have its own value. */
const isAnswer = (text: string): boolean =>
  /\d/.test(text) && math({ response: `\\boxed{${text}}`, groundTruth: text }).score === 1;

/**
 * Asks for a new problem. One of a kind that problems.ts knows is solved here, so that its label is right by
 * construction; of any other the environment model has to give the answer itself.
 */
export default defineEnvironment({
  name: "math-problems",
  task,

  prompt({ seeds, targetSuccess }) {
    const shown = seeds.flatMap(({ task }): Message[] => [
      { role: "user", content: "Next problem:" },
      { role: "assistant", content: `${toText(task.prompt)}\nAnswer: ${task.groundTruth}` },
    ]);
    return [...shown, { role: "user", content: `Next problem${wishFor(seeds, targetSuccess)}:` }];
  },

  parse({ answer, seeds }) {
    const { text, claimed } = readAnswer(answer);
    if (text.length < 8 || text.length > 400) return [reject("no-problem")];
    if (isHeldOut(text)) return [reject("held-out")];
    const prompt = toPrompt(text);
    if (seeds.some((seed) => seed.task.prompt === prompt)) return [reject("copied-a-seed")];
    const solved = solve(text);
    if (solved !== null) return [accept({ prompt, groundTruth: solved })];
    if (claimed === null) return [reject("no-answer")];
    if (!isAnswer(claimed)) return [reject("no-number")];
    return [accept({ prompt, groundTruth: claimed })];
  },
});
