import { closingIndex, splitAt } from "./brackets.js";
import { type Reader, readSum } from "./expression.js";
import { hasRelation, readRelation } from "./relations.js";
import { type Answer, type Node, type Token, unreadable } from "./syntax.js";
import { textKey } from "./text.js";
import { type Commas, tokenise } from "./tokens.js";
import { isUnitLetter } from "./units.js";

/** An answer as it was read, and whether one of its commas could be read in two ways. */
export interface Reading {
  answer: Answer;
  ambiguousCommas: boolean;
}

const deepest = 12;

/** Reads an answer's text as mathematics; what cannot be read so is text. */
export function readAnswer(text: string, commas: Commas): Reading {
  try {
    const { tokens, ambiguousCommas } = tokenise(text, commas);
    return { answer: readItems(trimTokens(tokens), 0), ambiguousCommas };
  } catch (thrown) {
    if (thrown !== unreadable) throw thrown;
    return { answer: { kind: "text", text: textKey(text) }, ambiguousCommas: false };
  }
}

const leadingWords = new Set([
  "approximately",
  "about",
  "roughly",
  "exactly",
  "answer",
  "therefore",
]);

/** The tokens less a closing full stop, outer braces and words such as "approximately" before them. */
function trimTokens(tokens: Token[]): Token[] {
  let start = 0;
  let end = tokens.length;
  while (end > start && tokens[end - 1]?.value === ".") end -= 1;
  while (start < end && isLeading(tokens[start] as Token)) start += 1;
  let trimmed = tokens.slice(start, end);
  while (
    trimmed.length > 2 &&
    trimmed[0]?.value === "{" &&
    closingIndex(trimmed, 0) === trimmed.length - 1
  ) {
    trimmed = trimmed.slice(1, -1);
  }
  return trimmed;
}

function isLeading(token: Token): boolean {
  if (token.kind === "text")
    return leadingWords.has(token.value.toLowerCase().replace(/[\s:]+$/, ""));
  return token.kind === "symbol" && (token.value === ":" || token.value === "=");
}

/** One answer, or several side by side: `1, 2`, `1 or 2`, `x = 1 and y = 2`. */
export function readItems(tokens: Token[], depth: number): Answer {
  if (tokens.length === 0 || depth > deepest) throw unreadable;
  const parts = splitAt(tokens, isSeparator).filter((part) => part.length > 0);
  if (parts.length === 0) throw unreadable;
  const items = parts.flatMap((part) => spreadSigns(part).map((one) => readItem(one, depth)));
  return items.length === 1 ? (items[0] as Answer) : { kind: "group", open: "", close: "", items };
}

function isSeparator(token: Token): boolean {
  if (token.kind === "symbol") return token.value === "," || token.value === ";";
  return token.kind === "text" && /^(or|and|,|, and|, or)$/i.test(token.value);
}

/** An item with ± in it as two items; ∓ takes the other sign. */
function spreadSigns(tokens: Token[]): Token[][] {
  if (
    !tokens.some(
      (token) => token.kind === "command" && (token.value === "pm" || token.value === "mp"),
    )
  ) {
    return [tokens];
  }
  return ["+", "-"].map((sign) => tokens.map((token) => signed(token, sign)));
}

function signed(token: Token, sign: string): Token {
  if (token.kind !== "command" || (token.value !== "pm" && token.value !== "mp")) return token;
  const value = token.value === "pm" ? sign : sign === "+" ? "-" : "+";
  return { ...token, kind: "symbol", value };
}

function readItem(tokens: Token[], depth: number): Answer {
  if (tokens.some((token) => token.kind === "command" && token.value === "cup")) {
    const parts = splitAt(tokens, (token) => token.kind === "command" && token.value === "cup");
    return { kind: "union", parts: parts.map((part) => readItems(part, depth + 1)) };
  }
  if (hasRelation(tokens)) return readRelation(tokens, (side) => readItems(side, depth + 1));
  const whole = readWhole(tokens, depth);
  if (whole !== null) return whole;
  const ratio = splitAt(tokens, (token) => token.kind === "symbol" && token.value === ":");
  if (ratio.length > 1) return { kind: "ratio", parts: ratio.map(readAll) };
  return readBased(tokens) ?? readValue(tokens);
}

/** An item that one pair of brackets, one environment or one word makes up. */
function readWhole(tokens: Token[], depth: number): Answer | null {
  const first = tokens[0] as Token;
  if (tokens.length === 1 && first.value === "emptyset")
    return { kind: "group", open: "{", close: "}", items: [] };
  if (
    tokens.every((token) => token.kind === "text" || token.kind === "letter" || token.value === ".")
  ) {
    return readWords(tokens);
  }
  const open = first.kind === "symbol" ? openings[first.value] : undefined;
  const end = closingIndex(tokens, 0);
  if (first.kind === "command" && first.value.startsWith("begin:")) return readMatrix(tokens, end);
  if (open === undefined || end !== tokens.length - 1) return null;
  return readBrackets(tokens, open, depth);
}

const openings: Record<string, "(" | "[" | "{"> = { "(": "(", "[": "[", "\\{": "{" };
const closings: Record<string, ")" | "]" | "}"> = { ")": ")", "]": "]", "\\}": "}" };

function readBrackets(tokens: Token[], open: "(" | "[" | "{", depth: number): Answer | null {
  const close = closings[tokens.at(-1)?.value ?? ""];
  if (close === undefined) return null;
  const inside = tokens.slice(1, -1);
  if (inside[0]?.value.startsWith("begin:")) return readItems(inside, depth + 1);
  const parts = splitAt(inside, isSeparator);
  if (open !== "{" && parts.length === 1) {
    if (close !== (open === "(" ? ")" : "]")) throw unreadable;
    return open === "("
      ? null
      : { kind: "group", open, close, items: [readItems(inside, depth + 1)] };
  }
  if (inside.length === 0) return { kind: "group", open, close, items: [] };
  const items = parts.flatMap((part) => spreadSigns(part).map((one) => readItems(one, depth + 1)));
  return { kind: "group", open, close, items };
}

/** Letters and words alone: a single letter is a name, anything longer is text. */
function readWords(tokens: Token[]): Answer | null {
  const words = tokens.filter((token) => token.value !== ".");
  const [first] = words;
  if (first === undefined) return null;
  if (words.every((token) => token.kind === "letter")) {
    const spelled =
      words.slice(1).some((token) => token.spaced) || words.some((token) => token.value.length > 1);
    if (words.length === 1 || spelled || isProduct(words)) return null;
  }
  const text = words.map((token) => (token.spaced ? " " : "") + token.value).join("");
  return { kind: "text", text: textKey(text) };
}

/**
 * Unknowns side by side, as in xy: small letters that make no word, for want of a vowel or as the usual a, b and c.
 * Capitals spell something in their order: HTT is not THT.
 */
function isProduct(words: Token[]): boolean {
  const word = words.map((token) => token.value).join("");
  return (
    /^[b-df-hj-np-tv-z]+$/.test(word) || /^[abc]+$/.test(word) || /^(a[xyz]|[xyz]a)$/.test(word)
  );
}

function readMatrix(tokens: Token[], end: number): Answer | null {
  const environment = (tokens[0] as Token).value.slice("begin:".length);
  if (!/^([pbBvV]?matrix|smallmatrix|array)$/.test(environment)) throw unreadable;
  if (end !== tokens.length - 1) return null;
  const rows = splitAt(tokens.slice(1, -1), (token) => token.value === "\\\\").filter(
    (row) => row.length > 0,
  );
  const cells = rows.map((row) => splitAt(row, (token) => token.value === "&").map(readAll));
  return { kind: "matrix", rows: cells, determinant: environment === "vmatrix" };
}

/** A numeral in a named base, such as 101_2; compared as it is written. */
function readBased(tokens: Token[]): Answer | null {
  const [digits, mark, ...rest] = tokens;
  if (digits?.kind !== "number" || mark?.value !== "_") return null;
  const base = rest
    .map((token) => token.value)
    .join("")
    .replace(/[{}]/g, "");
  return /^\d+$/.test(base) ? { kind: "based", digits: digits.value, base } : null;
}

/** An expression with what stands after it: its unit, or nothing. */
function readValue(written: Token[]): Answer {
  const tokens = withUnitAsText(written);
  const currency = tokens[0]?.kind === "text" && currencies.has(tokens[0].value.toLowerCase());
  const reader = newReader(tokens);
  if (currency) reader.at = 1;
  const node = readSum(reader);
  const rest = tokens.slice(reader.at);
  if (rest.length > 0 && rest[0]?.kind !== "text") throw unreadable;
  const spelled = rest.map((token) => token.value).join(" ");
  const percent = node.kind === "percent" || /^(percent|percentage|per cent)$/i.test(spelled);
  const degrees = node.kind === "degrees";
  const inner = node.kind === "percent" || node.kind === "degrees" ? node.of : node;
  const unit = degrees ? "degree" : currency ? (tokens[0]?.value ?? "") : percent ? "" : spelled;
  return { kind: "value", node: inner, unit, percent };
}

/** A unit such as m/s or m/s^2 after a blank, as text: a letter over a letter at the end is hardly algebra. */
function withUnitAsText(tokens: Token[]): Token[] {
  const start = tokens.map((token) => token.value).lastIndexOf("/") - 1;
  const unit = tokens.slice(Math.max(start, 0));
  const [above, , below, ...rest] = unit;
  if (start < 1 || !above?.spaced || tokens[start - 1]?.kind === "letter") return tokens;
  if (!isUnitToken(above) || below === undefined || !isUnitToken(below)) return tokens;
  const spelled = unit.map((token) => token.value).join("");
  if (rest.length > 0 && !/\^\{?[23]\}?$/.test(spelled)) return tokens;
  return [...tokens.slice(0, start), { kind: "text", value: spelled, spaced: true }];
}

function isUnitToken(token: Token): boolean {
  return token.kind === "letter" && isUnitLetter(token.value);
}

const currencies = new Set(["dollar", "euro", "pound", "yen", "usd", "rs"]);

function readAll(tokens: Token[]): Node {
  const reader = newReader(tokens);
  const node = readSum(reader);
  if (reader.at !== tokens.length) throw unreadable;
  return node;
}

function newReader(tokens: Token[]): Reader {
  return { tokens, at: 0, depth: 0, bars: 0 };
}
