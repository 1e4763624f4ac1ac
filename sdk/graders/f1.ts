import { goldTexts } from "./gold.js";
import { clip } from "./show.js";
import { withoutThinking } from "./think.js";
import { type Grade, type GraderInput, wrong } from "./types.js";

/** The conventions of the f1 grader. */
export interface F1Options {
  /** True (the default): "a", "an" and "the" don't count. */
  dropArticles?: boolean;
}

const longest = 100_000;

/**
 * The harmonic mean of precision and recall over words, as in SQuAD (Rajpurkar et al., arXiv 1606.05250): lower case,
 * no punctuation, no articles. Of a list of ground truths the best counts; of a long response the
 * last 100,000 characters.
 */
export function f1({ response, groundTruth }: GraderInput, options: F1Options = {}): Grade {
  if (typeof response !== "string") return wrong(null, "the response is not text");
  const golds = goldTexts(groundTruth);
  if (golds.length === 0) return wrong(null, "the ground truth is no text");
  const dropArticles = options.dropArticles !== false;
  const spoken = withoutThinking(response).slice(-longest);
  const said = toWords(spoken, dropArticles);
  const grades = golds.map((gold) => compareWords(said, toWords(gold, dropArticles)));
  const best = grades.reduce((top, grade) => (grade.score > top.score ? grade : top));
  const { score, precision, recall } = best;
  const reason = `${said.length} words, precision ${precision.toFixed(3)}, recall ${recall.toFixed(3)}`;
  return { score, extracted: clip(spoken.trim()), reason, metrics: { precision, recall } };
}

const articles = new Set(["a", "an", "the"]);

function toWords(text: string, dropArticles: boolean): string[] {
  const words = text
    .toLowerCase()
    .replace(/[\p{P}\p{S}]/gu, "")
    .split(/\s+/);
  return words.filter((word) => word !== "" && !(dropArticles && articles.has(word)));
}

function compareWords(
  said: string[],
  gold: string[],
): { score: number; precision: number; recall: number } {
  // Two texts without a word are equal; one without shares nothing.
  if (said.length === 0 || gold.length === 0) {
    const both = said.length === gold.length ? 1 : 0;
    return { score: both, precision: both, recall: both };
  }
  const left = new Map<string, number>();
  for (const word of gold) left.set(word, (left.get(word) ?? 0) + 1);
  let shared = 0;
  for (const word of said) {
    const count = left.get(word) ?? 0;
    if (count === 0) continue;
    left.set(word, count - 1);
    shared += 1;
  }
  const [precision, recall] = [shared / said.length, shared / gold.length];
  return {
    score: shared === 0 ? 0 : (2 * precision * recall) / (precision + recall),
    precision,
    recall,
  };
}
