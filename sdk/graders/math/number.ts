import { readAnswer } from "./answers.js";
import { evaluate, newApproximateContext } from "./approximate.js";
import type { Budget } from "./budget.js";
import { stepsPerAnswer } from "./budget.js";
import { hasName } from "./same-value.js";
import type { Answer } from "./syntax.js";
import { tooCostly, undefinedValue } from "./values.js";

const longest = 4000;

/**
 * The real number that a text says, in double precision: `1,234`, `3/4`, `50%` (0.5), `2\sqrt{3}`, `x = 5`, `5 cm`.
 * Null where it says none.
 */
export function readNumber(text: string): number | null {
  if (text.length > longest) return null;
  const plain = Number(text);
  if (text.trim() !== "" && Number.isFinite(plain)) return plain;
  return answerNumber(readAnswer(text, "thousands").answer);
}

function answerNumber(answer: Answer): number | null {
  if (answer.kind === "relation" && answer.name !== null)
    return answerNumber(answer.sides.at(-1) as Answer);
  if (answer.kind !== "value" || hasName(answer.node)) return null;
  const budget: Budget = { left: stepsPerAnswer };
  try {
    const { re, im } = evaluate(answer.node, newApproximateContext(budget, 0));
    const number = re.toNumber() * (answer.percent ? 0.01 : 1);
    return im.abs().lt(1e-30) && Number.isFinite(number) ? number : null;
  } catch (thrown) {
    if (thrown !== undefinedValue && thrown !== tooCostly) throw thrown;
    return null;
  }
}
