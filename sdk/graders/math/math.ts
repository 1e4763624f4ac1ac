import { goldTexts } from "../gold.js";
import { clip } from "../show.js";
import { withoutThinking } from "../think.js";
import { type Grade, type GraderInput, right, wrong } from "../types.js";
import { readAnswer } from "./answers.js";
import { stepsPerAnswer } from "./budget.js";
import { type Conventions, sameAnswer } from "./compare.js";
import { defaultRules, type ExtractionRule, extractAnswer, lastBox } from "./extract.js";
import type { Answer } from "./syntax.js";
import { choiceLetter, writtenKey } from "./text.js";

/** The conventions of the math grader that a caller may choose; each one's default stands first. */
export interface MathOptions {
  /** The ways to find the answer, in the order they are tried. Default: boxed, hashes, answer-is, lone. */
  extract?: readonly ExtractionRule[];
  /** "either": 50% is 50 and 0.5; "number": 50% is 50 only; "fraction": 50% is 0.5 only. */
  percent?: "either" | "number" | "fraction";
  /** "known": two units that are both known must agree; "ignore": units never matter. */
  units?: "known" | "ignore";
  /** "any": several answers side by side in any order; "kept": in the ground truth's. */
  listOrder?: "any" | "kept";
  /** Decimals with this many places match an exact value that they round (default 6); null: never. */
  roundedPlaces?: number | null;
  /** "skip": what stands in <think> is no answer; "read": it may be. */
  think?: "skip" | "read";
}

const longest = 4000;
const mostAlternatives = 32;

/**
 * Scores 1 where the response's final answer has the ground truth's value, else 0. The rules are in docs/graders.md.
 * The work is bounded by counts, never by a timer: an answer past 4,000 characters matches only when written the same.
 */
export function math({ response, groundTruth }: GraderInput, options: MathOptions = {}): Grade {
  if (typeof response !== "string") return wrong(null, "the response is not text");
  const golds = goldTexts(groundTruth)
    .map(goldAnswer)
    .filter((gold) => gold.trim() !== "");
  if (golds.length === 0) return wrong(null, "the ground truth holds no answer");
  const spoken = options.think === "read" ? response : withoutThinking(response);
  const found = extractAnswer(spoken, options.extract ?? defaultRules);
  if (found.text === null) return wrong(null, found.why);
  const text = found.text.trim().replace(/^\*\*(.*)\*\*$/s, "$1");
  const shown = clip(text);
  if (text === "") return wrong("", `the answer is empty (${found.rule})`);
  const conventions = toConventions(options);
  for (const gold of golds.slice(0, mostAlternatives)) {
    const verdict = compareTexts(text, gold, conventions);
    if (verdict !== null) return right(shown, `${shown} (${found.rule}) ${verdict} ${clip(gold)}`);
  }
  const exhausted =
    conventions.budget.left < 0 ? ", as far as the work allowed for one answer can tell" : "";
  return wrong(
    shown,
    `${shown} (${found.rule}) is not ${golds.map(clip).join(" or ")}${exhausted}`,
  );
}

function toConventions(options: MathOptions): Conventions {
  return {
    budget: { left: stepsPerAnswer },
    percent: options.percent ?? "either",
    units: options.units ?? "known",
    listOrder: options.listOrder ?? "any",
    roundedPlaces: options.roundedPlaces === undefined ? 6 : options.roundedPlaces,
  };
}

/** A ground truth's answer: what is boxed in it, what follows its ####, or all of it (of a very long one, always all). */
function goldAnswer(gold: string): string {
  if (gold.length > longest * 10) return gold;
  const box = gold.includes("\\") ? lastBox(gold) : null;
  if (box !== null && box !== "unclosed") return box;
  const hashes = gold.lastIndexOf("####");
  return hashes < 0 ? gold.trim() : gold.slice(hashes + 4).trim();
}

/** How two texts match, as a verb for the reason; null where they do not. */
function compareTexts(text: string, gold: string, conventions: Conventions): string | null {
  if (text === gold) return "is written as";
  if (text.length > longest || gold.length > longest) return null;
  const numbers = comparePlain(text, gold);
  if (numbers !== null) return numbers ? "equals" : null;
  if (writtenKey(text) === writtenKey(gold)) return "is written as";
  if (isChoice(gold) && choiceLetter(text) === gold.toLowerCase()) return "chooses";
  if (isChoice(text) && choiceLetter(gold) === text.toLowerCase()) return "chooses";
  const ours = readAnswer(text, "thousands");
  const theirs = readAnswer(gold, "thousands");
  if (sameAnswer(ours.answer, theirs.answer, conventions)) return "equals";
  if (!ours.ambiguousCommas && !theirs.ambiguousCommas) return null;
  // A comma between groups of three digits may also separate two answers.
  for (const [one, other] of otherReadings(text, gold, ours.answer, theirs.answer)) {
    if (sameAnswer(one, other, conventions)) return "equals";
  }
  return null;
}

function otherReadings(
  text: string,
  gold: string,
  ours: Answer,
  theirs: Answer,
): [Answer, Answer][] {
  const [ourList, theirList] = [
    readAnswer(text, "separate").answer,
    readAnswer(gold, "separate").answer,
  ];
  return [
    [ourList, theirList],
    [ourList, theirs],
    [ours, theirList],
  ];
}

function isChoice(text: string): boolean {
  return /^[A-Ja-j]$/.test(text);
}

const plain = /^[+-]?(\d{1,40})(?:\.(\d{1,40}))?$/;

/** Compares two plain numbers by their digits; null where one is anything else. */
function comparePlain(text: string, gold: string): boolean | null {
  const ours = plain.exec(text);
  const theirs = ours === null ? null : plain.exec(gold);
  if (ours === null || theirs === null) return null;
  return plainKey(text, ours) === plainKey(gold, theirs);
}

function plainKey(text: string, [, whole = "", decimals = ""]: RegExpExecArray): string {
  const digits = whole.replace(/^0+(?=\d)/, "");
  const tail = decimals.replace(/0+$/, "");
  const negative = text.startsWith("-") && !(digits === "0" && tail === "");
  return `${negative ? "-" : ""}${digits}.${tail}`;
}
