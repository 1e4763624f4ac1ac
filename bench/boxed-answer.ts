import { z } from "zod";
import { HOOK_BRAND, type RewardHook } from "../bridge/hooks/types.js";

const [OPEN, CLOSE, SPACE, NEWLINE, CARET, BACKSLASH, BANG, DOLLAR, T, D] = Array.from(
  "{} \n^\\!$td",
  (character) => character.charCodeAt(0),
);

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

/** Without spaces and sizes, and with one name for each kind of fraction. */
function normalised(text: string): string {
  let out = "";
  let kept = 0;
  for (let at = 0; at < text.length; at++) {
    const dropped = droppedAt(text, at);
    if (dropped === 0) continue;
    out += text.slice(kept, at);
    at += dropped - 1;
    kept = at + 1;
  }
  return kept === 0 ? text : out + text.slice(kept);
}

/** How many characters at a place mean nothing. */
function droppedAt(text: string, at: number): number {
  const character = text.charCodeAt(at);
  if (character === SPACE || character === NEWLINE) return 1;
  if (character === CARET) return text.startsWith("^{\\circ}", at) ? 8 : 0;
  if (character === T || character === D) return text.startsWith("frac", at + 1) ? 1 : 0;
  if (character !== BACKSLASH) return 0;
  const next = text.charCodeAt(at + 1);
  if (next === BANG || next === DOLLAR) return 2;
  if (next === BACKSLASH) return 1;
  if (text.startsWith("left", at + 1)) return 5;
  return text.startsWith("right", at + 1) ? 6 : 0;
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
