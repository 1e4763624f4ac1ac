import { goldTexts } from "./gold.js";
import { clip } from "./show.js";
import { withoutThinking } from "./think.js";
import { type Grade, type GraderInput, right, wrong } from "./types.js";

/** The conventions of the exact grader; each one's default stands first. */
export interface ExactOptions {
  /** True: blanks at both ends don't matter. */
  trim?: boolean;
  /** True: A is not a. */
  caseSensitive?: boolean;
}

/** Scores 1 where the response, less its thinking, is the ground truth's text, or one of a list's. */
export function exact({ response, groundTruth }: GraderInput, options: ExactOptions = {}): Grade {
  if (typeof response !== "string") return wrong(null, "the response is not text");
  const golds = goldTexts(groundTruth);
  if (golds.length === 0) return wrong(null, "the ground truth is no text");
  const key = (text: string): string => {
    const trimmed = options.trim === false ? text : text.trim();
    return options.caseSensitive === false ? trimmed.toLowerCase() : trimmed;
  };
  const spoken = withoutThinking(response);
  const said = key(spoken);
  const shown = clip(spoken.trim());
  const match = golds.find((gold) => key(gold) === said);
  if (match !== undefined) return right(shown, `${shown} is the ground truth`);
  return wrong(shown, `${shown || "nothing"} is not ${golds.map(clip).join(" or ")}`);
}
