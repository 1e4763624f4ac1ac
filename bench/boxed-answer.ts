import { z } from "zod";
import { HOOK_BRAND, type RewardHook } from "../bridge/hooks/types.js";

const DROPPED = /[\n ]|\\(?:!|left|right|\$)|\^\{\\circ\}/g;
const OPEN = "{".charCodeAt(0);
const CLOSE = "}".charCodeAt(0);
const ALIASES = /\\\\|[td]frac/g;

/** The benchmark's reward in TypeScript, the same as boxed_answer.py. */
export function boxedAnswer(response: string, groundTruth: string): number {
  const boxed = lastBoxed(response);
  if (boxed === null) return 0;
  const isRight = normalised(boxed) === normalised(groundTruth);
  const opening = response.indexOf("<answer>");
  const isTagged = opening >= 0 && response.indexOf("</answer>", opening) >= 0;
  return (isRight ? 1 : 0) + (isTagged ? 0.1 : 0);
}

function lastBoxed(response: string): string | null {
  const start = response.lastIndexOf("\\boxed{");
  if (start < 0) return null;
  let depth = 0;
  for (let at = start + 6; at < response.length; at++) {
    const character = response.charCodeAt(at);
    if (character === OPEN) depth += 1;
    else if (character === CLOSE) {
      depth -= 1;
      if (depth === 0) return response.slice(start + 7, at);
    }
  }
  return null;
}

function normalised(text: string): string {
  const kept = text.replace(DROPPED, "");
  return kept.replace(ALIASES, (alias) => (alias === "\\\\" ? "\\" : "frac"));
}

const reward: RewardHook<z.ZodString> = {
  [HOOK_BRAND]: "reward",
  name: "boxed-answer",
  groundTruth: z.string(),
  uses: [],
  concurrency: null,
  score: ({ response, groundTruth }) => boxedAnswer(response, groundTruth),
};

export default reward;
