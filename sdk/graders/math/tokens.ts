import {
  commandSynonyms,
  functions,
  silentCommands,
  superscripts,
  textCommands,
  unicodeSpellings,
} from "./commands.js";
import { type Token, unreadable } from "./syntax.js";
import { isUnitLetter, isUnitWord } from "./units.js";

/** How a comma between digit groups is read outside brackets: `1,234` as one number, or as two. */
export type Commas = "thousands" | "separate";

/** The tokens of one answer, and whether a comma in it could be read both ways. */
export interface Tokens {
  tokens: Token[];
  ambiguousCommas: boolean;
}

interface Scanner extends Tokens {
  text: string;
  at: number;
  spaced: boolean;
  /** Open brackets: inside them a comma separates. */
  brackets: number;
  commas: Commas;
}

const maxTokens = 1000;
const greek = new Set(
  "alpha beta gamma delta epsilon theta lambda mu omega phi psi rho sigma tau".split(" "),
);
/** Commands that put a mark on a letter: the mark becomes a part of its name. */
const marks = new Set(
  "vec hat bar overline mathbb mathcal mathfrak tilde dot overrightarrow widehat".split(" "),
);
/** Commands whose one argument lays out, and is dropped. */
const layout = new Set("hspace vspace color phantom hphantom vphantom label tag".split(" "));

/** Reads an answer's text; throws `unreadable` for more than 1,000 tokens or an unfinished command. */
export function tokenise(text: string, commas: Commas): Tokens {
  const scanner: Scanner = {
    text: spellInAscii(text),
    at: 0,
    spaced: false,
    brackets: 0,
    commas,
    tokens: [],
    ambiguousCommas: false,
  };
  while (scanner.at < scanner.text.length) {
    scanToken(scanner);
    if (scanner.tokens.length > maxTokens) throw unreadable;
  }
  return scanner;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the range is ASCII.
const notAscii = /[^\x00-\x7f]/;

/** Unicode mathematics written as LaTeX; ASCII text comes back as it is. */
function spellInAscii(text: string): string {
  if (!notAscii.test(text)) return text;
  let spelled = "";
  let raised = "";
  for (const character of text) {
    const superscript = superscripts.get(character);
    if (superscript !== undefined) {
      raised += superscript;
      continue;
    }
    if (raised !== "") spelled += `^{${raised}}`;
    raised = "";
    const code = character.charCodeAt(0);
    const full = code >= 0xff01 && code <= 0xff5e;
    const plain = full ? String.fromCharCode(code - 0xfee0) : character;
    spelled += unicodeSpellings.get(plain) ?? plain;
  }
  return raised === "" ? spelled : `${spelled}^{${raised}}`;
}

function scanToken(scanner: Scanner): void {
  const character = scanner.text.charAt(scanner.at);
  if (character === "\\") scanCommand(scanner);
  else if (isDigit(character)) scanNumber(scanner);
  else if (character === "." && isDigit(scanner.text.charAt(scanner.at + 1))) scanNumber(scanner);
  else if (isLetter(character)) scanWord(scanner);
  else if (character === "$" || character === "~" || character.trim() === "") {
    scanner.at += 1;
    scanner.spaced = true;
  } else scanSymbol(scanner);
}

function push(scanner: Scanner, kind: Token["kind"], value: string, repeating?: string): void {
  scanner.tokens.push({ kind, value, spaced: scanner.spaced, repeating });
  scanner.spaced = false;
}

const longSymbols = ["**", "<=", ">=", "!=", "==", ":="];
const longMeanings: Record<string, string> = { "**": "^", "==": "=", ":=": "=" };

function scanSymbol(scanner: Scanner): void {
  const two = scanner.text.slice(scanner.at, scanner.at + 2);
  const long = longSymbols.includes(two);
  const symbol = long ? (longMeanings[two] ?? two) : two.charAt(0);
  scanner.at += long ? 2 : 1;
  bracket(scanner, symbol);
  push(scanner, "symbol", symbol);
}

function bracket(scanner: Scanner, symbol: string): void {
  if (symbol === "(" || symbol === "[" || symbol === "\\{") scanner.brackets += 1;
  else if (symbol === ")" || symbol === "]" || symbol === "\\}") scanner.brackets -= 1;
}

function scanCommand(scanner: Scanner): void {
  const { text } = scanner;
  let end = scanner.at + 1;
  while (end < text.length && isLetter(text.charAt(end))) end += 1;
  if (end === scanner.at + 1) {
    scanEscape(scanner);
    return;
  }
  const name = text.slice(scanner.at + 1, end);
  scanner.at = end;
  if (textCommands.has(name)) scanText(scanner, readBraces(scanner));
  else if (silentCommands.has(name)) scanner.spaced = true;
  else if (layout.has(name)) readBraces(scanner);
  else if (name === "textcolor" || name === "colorbox") readBraces(scanner);
  else if (name === "begin" || name === "end") scanEnvironment(scanner, name);
  else if (marks.has(name)) push(scanner, "letter", `${name} ${readBraces(scanner).trim()}`);
  else if (greek.has(name)) push(scanner, "letter", name);
  else if (name === "dots" || name === "ldots" || name === "cdots") push(scanner, "symbol", "...");
  else pushCommand(scanner, commandSynonyms.get(name) ?? name);
}

function pushCommand(scanner: Scanner, meaning: string): void {
  const symbol = !isLetter(meaning.charAt(0));
  if (symbol) bracket(scanner, meaning);
  if (meaning === "or" || meaning === "and") push(scanner, "text", meaning);
  else push(scanner, symbol ? "symbol" : "command", meaning);
}

function scanEscape(scanner: Scanner): void {
  const escaped = scanner.text.charAt(scanner.at + 1);
  scanner.at += 2;
  if (escaped === "\\") push(scanner, "symbol", "\\\\");
  else if (escaped === "{" || escaped === "}") {
    bracket(scanner, `\\${escaped}`);
    push(scanner, "symbol", `\\${escaped}`);
  } else if (escaped === "$") push(scanner, "text", "dollar");
  else if (escaped === "%") push(scanner, "symbol", "%");
  else if (escaped === "|") push(scanner, "symbol", "|");
  else scanner.spaced = true; // \, \! \; \( and the like only lay out.
}

function scanEnvironment(scanner: Scanner, name: string): void {
  const environment = readBraces(scanner).replace(/\*$/, "").trim();
  if (name === "begin" && environment === "array") readBraces(scanner);
  scanner.brackets += name === "begin" ? 1 : -1;
  push(scanner, "command", `${name}:${environment}`);
}

/** What stands in the braces that follow, or the one character where there are none. */
function readBraces(scanner: Scanner): string {
  const { text } = scanner;
  while (text.charAt(scanner.at) === " ") scanner.at += 1;
  if (text.charAt(scanner.at) !== "{") return text.charAt(scanner.at++);
  const start = scanner.at + 1;
  let depth = 0;
  for (let at = scanner.at; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === "\\") at += 1;
    else if (character === "{") depth += 1;
    else if (character === "}" && --depth === 0) {
      scanner.at = at + 1;
      return text.slice(start, at);
    }
  }
  throw unreadable;
}

/** Text in a \text{}: words stay text; a number, a sign or a lone letter in it is read as mathematics. */
function scanText(scanner: Scanner, content: string): void {
  const letters = content.match(/[^\W\d_]/g)?.length ?? 0;
  if (functions.has(content)) push(scanner, "command", content);
  else if (isUnitLetter(content.trim()) && followsOperand(scanner))
    push(scanner, "text", content.trim());
  else if (content.trim() === "to") push(scanner, "symbol", ":");
  else if (!/\\[a-zA-Z]/.test(content) && (letters > 1 || notAscii.test(content)))
    push(scanner, "text", content.trim());
  else {
    scanner.tokens.push(...tokenise(content, scanner.commas).tokens);
    scanner.spaced = true;
  }
}

/** True after a number or a closing bracket: a letter in a \text there is a unit, as in 5\text{ m}. */
function followsOperand(scanner: Scanner): boolean {
  const last = scanner.tokens.at(-1);
  return (
    last?.kind === "number" || last?.value === "}" || last?.value === ")" || last?.value === "pi"
  );
}

function scanWord(scanner: Scanner): void {
  const { text } = scanner;
  let end = scanner.at + 1;
  while (end < text.length && isLetter(text.charAt(end))) end += 1;
  const word = text.slice(scanner.at, end);
  scanner.at = end;
  const lower = word.toLowerCase();
  const last = scanner.tokens.at(-1);
  if (
    functions.has(lower) ||
    lower === "pi" ||
    lower === "sqrt" ||
    lower === "gcd" ||
    lower === "lcm"
  ) {
    push(scanner, "command", lower);
  } else if (lower === "inf" || lower === "infinity" || lower === "infty") {
    push(scanner, "command", "infty");
  } else if (greek.has(lower)) push(scanner, "letter", lower);
  else if (word.length > 3 || lower === "or" || lower === "and") push(scanner, "text", word);
  else if (last !== undefined && last.kind !== "letter" && scanner.spaced && isUnitWord(word)) {
    push(scanner, "text", word);
  } else for (const letter of word) push(scanner, "letter", letter);
}

function scanNumber(scanner: Scanner): void {
  const whole = scanGroups(scanner) || "0";
  let decimals = "";
  let repeating: string | undefined;
  if (scanner.text.charAt(scanner.at) === ".") {
    const start = scanner.at + 1;
    const end = digitsEnd(scanner.text, start);
    decimals = scanner.text.slice(start, end);
    repeating = scanRepeating(scanner, end);
    // A point that letters follow ends a sentence; the number stops before it.
    if (repeating === undefined && (end > start || !isLetter(scanner.text.charAt(end))))
      scanner.at = end;
  }
  const exponent = repeating === undefined ? scanExponent(scanner) : "";
  const point = decimals === "" && repeating === undefined ? "" : `.${decimals}`;
  push(scanner, "number", `${whole}${point}${exponent}`, repeating);
}

const separators = ["{,}\\!", ",\\!", "{,}", "\\,", "\\!", ","];

// A single group after a blank may be another number.
const blankGroups = /^(?:[ ~]\d{3}){2,}(?!\d)/;

/** The digits at the scanner, with what separates thousands left out. */
function scanGroups(scanner: Scanner): string {
  const { text } = scanner;
  let end = digitsEnd(text, scanner.at);
  let digits = text.slice(scanner.at, end);
  scanner.at = end;
  const next = text.charAt(end);
  if ((next === " " || next === "~") && digits.length <= 3 && !digits.startsWith("0")) {
    const groups = blankGroups.exec(text.slice(end, end + 60));
    if (groups !== null) {
      scanner.at += groups[0].length;
      return digits + groups[0].replace(/[ ~]/g, "");
    }
  }
  const groupable = digits.length >= 1 && digits.length <= 3 && !digits.startsWith("0");
  while (groupable) {
    const separator = separators.find((candidate) => text.startsWith(candidate, end));
    if (separator === undefined) break;
    const start = end + separator.length;
    if (digitsEnd(text, start) !== start + 3) break;
    if (separator === ",") {
      if (scanner.brackets > 0) break;
      scanner.ambiguousCommas = true;
      if (scanner.commas === "separate") break;
    }
    digits += text.slice(start, start + 3);
    end = start + 3;
    scanner.at = end;
  }
  return digits;
}

const repeatingMarks = ["\\overline{", "\\bar{", "\\dot{", "("];

/** The repeating digits after a number's decimals, such as the 3 in 0.\overline{3} or 0.(3). */
function scanRepeating(scanner: Scanner, from: number): string | undefined {
  const { text } = scanner;
  const mark = repeatingMarks.find((candidate) => text.startsWith(candidate, from));
  if (mark === undefined) return undefined;
  const start = from + mark.length;
  const end = digitsEnd(text, start);
  const close = mark === "(" ? ")" : "}";
  if (end === start || end - start > 20 || text.charAt(end) !== close) return undefined;
  scanner.at = end + 1;
  return text.slice(start, end);
}

/** An exponent such as the e-3 in 1.6e-3, or nothing. */
function scanExponent(scanner: Scanner): string {
  const { text } = scanner;
  const mark = text.charAt(scanner.at);
  if (mark !== "e" && mark !== "E") return "";
  const sign = text.charAt(scanner.at + 1);
  const start = scanner.at + (sign === "+" || sign === "-" ? 2 : 1);
  const end = digitsEnd(text, start);
  if (end === start || end - start > 9 || isLetter(text.charAt(end))) return "";
  const exponent = text.slice(scanner.at, end);
  scanner.at = end;
  return exponent;
}

function digitsEnd(text: string, from: number): number {
  let at = from;
  while (at < text.length && isDigit(text.charAt(at))) at += 1;
  return at;
}

export function isDigit(character: string): boolean {
  return character >= "0" && character <= "9" && character.length === 1;
}

export function isLetter(character: string): boolean {
  if (character.length !== 1) return false;
  return (
    (character >= "a" && character <= "z") ||
    (character >= "A" && character <= "Z") ||
    (character > "\u00ff" && /\p{L}/u.test(character))
  );
}
