import { goldTexts } from "./gold.js";
import { clip } from "./show.js";
import { withoutThinking } from "./think.js";
import { type Grade, type GraderInput, right, wrong } from "./types.js";

/** The conventions of the contains grader; each one's default stands first. */
export interface ContainsOptions {
  /** "all": every text of a list must stand in the response; "any": one of them. */
  list?: "all" | "any";
  /** True: only whole words and numbers count, so that 12 does not stand in 3125. */
  words?: boolean;
  /** False: A is a. */
  caseSensitive?: boolean;
}

/** Scores 1 where the ground truth's texts stand in the response, less its thinking. */
export function contains(
  { response, groundTruth }: GraderInput,
  options: ContainsOptions = {},
): Grade {
  if (typeof response !== "string") return wrong(null, "the response is not text");
  const golds = goldTexts(groundTruth).filter((gold) => gold !== "");
  if (golds.length === 0) return wrong(null, "the ground truth is no text");
  const fold = (text: string): string =>
    options.caseSensitive === true ? text : text.toLowerCase();
  const spoken = fold(withoutThinking(response));
  const present = golds.filter((gold) => stands(spoken, fold(gold), options.words !== false));
  const wanted = options.list === "any" ? 1 : golds.length;
  const extracted = present.length === 0 ? null : clip(present.join(", "));
  if (present.length >= wanted) return right(extracted, `the response has ${extracted}`);
  const missing = golds.filter((gold) => !present.includes(gold));
  return wrong(extracted, `the response lacks ${clip(missing.join(", "))}`);
}

/** A text full of places that are no whole word is noise, not an answer. */
const mostTries = 10_000;

function stands(text: string, part: string, words: boolean): boolean {
  let tries = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) {
    if (++tries > mostTries) return false;
    if (!words || isWhole(text, at, part)) return true;
  }
  return false;
}

function isWhole(text: string, at: number, part: string): boolean {
  const end = at + part.length;
  return (
    !joined(text.charAt(at - 1), part.charAt(0)) &&
    !joined(text.charAt(end), part.charAt(part.length - 1))
  );
}

/** True where two characters side by side are of one word or one number. */
function joined(outer: string, inner: string): boolean {
  return /[\p{L}\p{N}_]/u.test(outer) && /[\p{L}\p{N}_]/u.test(inner);
}
