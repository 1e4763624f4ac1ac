/** A way to find the final answer in a response. */
export type ExtractionRule = "boxed" | "hashes" | "answer-is" | "lone" | "last-number";

/** The answer's text, and which rule found it; null with the reason where there is none. */
export type Extraction = { text: string; rule: ExtractionRule } | { text: null; why: string };

const longestLone = 300;
/** A final answer stands at the end: only this many characters are read. */
const longestTail = 60_000;
const longestSentenceTail = 20_000;
const mostJoined = 64;

/** The rules in the order they are tried, unless a caller selects its own. "last-number" is off until it is asked for. */
export const defaultRules: readonly ExtractionRule[] = ["boxed", "hashes", "answer-is", "lone"];

/** Finds the final answer by the first rule that applies. A box that never closes ends the search: it was cut off. */
export function extractAnswer(whole: string, rules: readonly ExtractionRule[]): Extraction {
  const response = whole.slice(-longestTail);
  for (const rule of rules) {
    if (rule === "boxed") {
      const box = lastBox(response);
      if (box === "unclosed") return { text: null, why: "the last box never closes" };
      if (box !== null) return { text: box, rule };
      continue;
    }
    const text = finders[rule](response);
    if (text !== null) return { text, rule };
  }
  return { text: null, why: `no answer was found (looked for: ${rules.join(", ")})` };
}

const finders: Record<Exclude<ExtractionRule, "boxed">, (response: string) => string | null> = {
  hashes: afterHashes,
  "answer-is": afterAnswerIs,
  lone: loneExpression,
  "last-number": lastNumber,
};

interface Box {
  start: number;
  content: number;
  end: number;
}

/**
 * The last \boxed{} or \fbox{} with balanced braces. Boxes joined only by "and", "or" or a comma are
 * one answer of several parts: all of them count. A box without braces takes one token, as TeX does.
 */
export function lastBox(response: string): string | null | "unclosed" {
  const from = firstBox(response);
  if (from < 0) return null;
  const { boxes, unclosed } = findBoxes(response, from);
  const last = boxes.at(-1);
  if (unclosed > (last?.start ?? -1)) return "unclosed";
  if (last === undefined) return null;
  let first = boxes.length - 1;
  while (
    first > boxes.length - mostJoined &&
    first > 0 &&
    joins(response, boxes[first - 1] as Box, boxes[first] as Box)
  )
    first -= 1;
  return boxes
    .slice(first)
    .map((box) => response.slice(box.content, box.end))
    .join(", ");
}

function firstBox(response: string): number {
  const [boxed, framed] = [response.indexOf("\\boxed"), response.indexOf("\\fbox")];
  if (boxed < 0 || framed < 0) return Math.max(boxed, framed);
  return Math.min(boxed, framed);
}

/** The outermost closed boxes in order of their ends, and the start of the last unclosed one (-1: none). */
function findBoxes(response: string, from: number): { boxes: Box[]; unclosed: number } {
  const boxes: Box[] = [];
  const open: number[] = []; // For each open brace, where its box starts, or -1 for a plain brace.
  let at = from;
  while (at < response.length) {
    const code = response.charCodeAt(at);
    if (code === 0x5c) {
      const content = boxContent(response, at);
      if (content < 0) at += 2;
      else if (response.charAt(content) === "{") {
        open.push(at);
        at = content + 1;
      } else {
        const token =
          /^(?:\\[a-zA-Z]+|[^\s\\{}])/.exec(response.slice(content, content + 40))?.[0] ?? "";
        if (token !== "") boxes.push({ start: at, content, end: content + token.length });
        at = content + Math.max(1, token.length);
      }
      continue;
    }
    if (code === 0x7b) open.push(-1);
    else if (code === 0x7d) {
      const start = open.pop() ?? -1;
      if (start >= 0) addBox(boxes, { start, content: boxContent(response, start) + 1, end: at });
    }
    at += 1;
  }
  return { boxes, unclosed: open.reduce((last, start) => Math.max(last, start), -1) };
}

/** Adds a closed box, in the place of those inside it. */
function addBox(boxes: Box[], box: Box): void {
  while (boxes.length > 0 && (boxes.at(-1) as Box).start > box.start) boxes.pop();
  boxes.push(box);
}

/** Where the content of a box that starts at `at` begins (its brace, or its token), or -1 where none starts there. */
function boxContent(response: string, at: number): number {
  const length = response.startsWith("\\boxed", at) ? 6 : response.startsWith("\\fbox", at) ? 5 : 0;
  if (length === 0 || /[a-zA-Z]/.test(response.charAt(at + length))) return -1;
  let content = at + length;
  while (response.charAt(content) === " ") content += 1;
  return content;
}

const connective = /^[\s$.;]*(?:,|and|or|,\s{0,3}and|,\s{0,3}or|\\text\{ ?(?:and|or) ?\})[\s$]*$/;

function joins(response: string, left: Box, right: Box): boolean {
  const gap = response.slice(left.end + 1, right.start);
  return gap.length <= 30 && connective.test(gap);
}

/** What follows the last #### on its line. */
function afterHashes(response: string): string | null {
  const at = response.lastIndexOf("####");
  if (at < 0) return null;
  return present(firstLine(response, at + 4));
}

/** What follows the last "answer is", "answer:" or "answer =", up to the end of its sentence. */
function afterAnswerIs(whole: string): string | null {
  const response = whole.slice(-longestSentenceTail);
  let before = response.length;
  for (let tries = 0; tries < 50; tries++) {
    const at = lastWord(response, before);
    if (at < 0) return null;
    const match = /^answers?\b[^.\n:=]{0,60}?(?:\bis\b|\bare\b|[:=])\s*[:=]?/i.exec(
      response.slice(at, at + 90),
    );
    const text = match === null ? null : present(sentence(response, at + match[0].length));
    if (text !== null) return text;
    before = at;
  }
  return null;
}

const spellings = ["answer", "Answer", "ANSWER"];

function lastWord(response: string, before: number): number {
  if (before <= 0) return -1;
  return Math.max(...spellings.map((word) => response.lastIndexOf(word, before - 1)));
}

/** One sentence from `from`: a formula in dollars or \( \) where it starts with one, else up to a full stop. */
function sentence(response: string, from: number): string {
  const line = firstLine(response, from) || firstLine(response, nextText(response, from));
  const text = line.trim().replace(/^\*{1,2}\s*|\s*\*{1,2}$/g, "");
  for (const [open, close] of formulas) {
    const end = text.startsWith(open) ? text.indexOf(close, open.length) : -1;
    if (end > 0) return text.slice(open.length, end);
  }
  const stop = /[.!?](?=\s|$|\*)/.exec(text);
  return stop === null ? text : text.slice(0, stop.index);
}

const formulas = [
  ["$$", "$$"],
  ["$", "$"],
  ["\\(", "\\)"],
  ["\\[", "\\]"],
] as const;

function nextText(response: string, from: number): number {
  let at = from;
  while (at < response.length && response.charAt(at).trim() === "") at += 1;
  return at;
}

function firstLine(response: string, from: number): string {
  const end = response.indexOf("\n", from);
  return response.slice(from, Math.min(end < 0 ? response.length : end, from + 2000)).trim();
}

function present(text: string): string | null {
  const trimmed = text
    .trim()
    .replace(/^\*{1,2}|\*{1,2}$/g, "")
    .trim();
  return trimmed === "" ? null : trimmed;
}

/** The response where it is one expression and nothing else, or the only formula on its last line. */
function loneExpression(response: string): string | null {
  const text = withoutMarkers(response.slice(-4000)).trim();
  if (text === "") return null;
  if (
    response.length < 4000 &&
    text.length <= longestLone &&
    !text.includes("\n") &&
    !isProse(text)
  )
    return text;
  const lines = text.split("\n");
  const last = lines.at(-1) ?? "";
  const found = [...last.matchAll(/\$\$?([^$]{1,300})\$\$?|\\\(((?:[^\\]|\\[^)]){1,300})\\\)/g)];
  return found.length === 1 ? (found[0]?.[1] ?? found[0]?.[2] ?? null) : null;
}

/** Special tokens such as <|im_end|> that a tokenizer left at the end. */
function withoutMarkers(text: string): string {
  return text.replace(/<\|[a-z_]{1,30}\|>\s*$|<\/s>\s*$/i, "");
}

/** True for text of several words: an expression has at most two that are not commands. */
function isProse(text: string): boolean {
  const words = text.replace(/\\[a-zA-Z]+/g, " ").match(/[a-zA-Z]{2,}/g) ?? [];
  return words.length > 3;
}

/** The last number in the response, with its sign and its decimals. */
function lastNumber(response: string): string | null {
  const numbers = response.slice(-4000).match(/[-−]?\d[\d,]*(?:\.\d+)?(?:\/\d+)?%?/g);
  return numbers?.at(-1)?.replace(/,$/, "") ?? null;
}
