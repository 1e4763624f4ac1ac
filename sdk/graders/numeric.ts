import { goldTexts } from "./gold.js";
import { type Extraction, type ExtractionRule, extractAnswer } from "./math/extract.js";
import { readNumber } from "./math/number.js";
import { clip } from "./show.js";
import { withoutThinking } from "./think.js";
import { type Grade, type GraderInput, right, wrong } from "./types.js";

/** How near a number must be; each one's default is named. */
export interface NumericOptions {
  /** The largest difference that matches, in the number's own unit. Default 1e-9. */
  absolute?: number;
  /** The largest difference that matches, as a share of the ground truth. Default 1e-6. */
  relative?: number;
  /** The ways to find the answer, in the order they are tried. Default: boxed, hashes, answer-is, lone, last-number. */
  extract?: readonly ExtractionRule[];
}

const rules: readonly ExtractionRule[] = ["boxed", "hashes", "answer-is", "lone", "last-number"];

/** Scores 1 where the response's number is within the tolerance of the ground truth's. */
export function numeric(
  { response, groundTruth }: GraderInput,
  options: NumericOptions = {},
): Grade {
  if (typeof response !== "string") return wrong(null, "the response is not text");
  const golds = goldTexts(groundTruth)
    .map(readNumber)
    .filter((gold) => gold !== null);
  if (golds.length === 0) return wrong(null, "the ground truth is no number");
  const found = findNumber(withoutThinking(response), options.extract ?? rules);
  if (found.text === null) return wrong(null, found.why);
  const shown = clip(found.text.trim());
  const number = readNumber(found.text);
  if (number === null) return wrong(shown, `${shown} (${found.rule}) is no number`);
  const match = golds.find((gold) => Math.abs(number - gold) <= tolerance(gold, options));
  if (match !== undefined)
    return right(
      shown,
      `${number} (${found.rule}) is within ${tolerance(match, options)} of ${match}`,
    );
  return wrong(
    shown,
    `${number} (${found.rule}) is not within the tolerance of ${golds.join(" or ")}`,
  );
}

/** The answer by the first rule that applies; a lone text that is no number leaves it to the last number in it. */
function findNumber(text: string, selected: readonly ExtractionRule[]): Extraction {
  const found = extractAnswer(text, selected);
  if (found.text === null || found.rule !== "lone" || readNumber(found.text) !== null) return found;
  return selected.includes("last-number") ? extractAnswer(text, ["last-number"]) : found;
}

function tolerance(gold: number, options: NumericOptions): number {
  return Math.max(options.absolute ?? 1e-9, Math.abs(gold) * (options.relative ?? 1e-6));
}
