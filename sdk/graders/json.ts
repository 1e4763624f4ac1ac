/** A JSON value with exact numbers. Objects are maps, so that no key ("__proto__", "constructor") is special. */
export type Json = null | boolean | string | JsonNumber | Json[] | Map<string, Json>;

/** A number by its value: 1, 1.0 and 10e-1 are one, and no digit of a long one is lost. */
export interface JsonNumber {
  readonly number: string;
}

/** A value read from a text, and where the text goes on after it. */
export interface JsonRead {
  value: Json;
  end: number;
}

const deepest = 100;

/** Reads the JSON value that starts at `from` (after blanks); null where there is none. Raw newlines in strings are taken. */
export function readJson(text: string, from = 0): JsonRead | null {
  const reader = { text, at: from };
  const value = readValue(reader, 0);
  return value === undefined ? null : { value, end: reader.at };
}

/** A text that is one JSON value and nothing else; undefined where it is not. */
export function parseJson(text: string): Json | undefined {
  const read = readJson(text);
  return read !== null && skipBlanks(text, read.end) === text.length ? read.value : undefined;
}

interface Reader {
  text: string;
  at: number;
}

function readValue(reader: Reader, depth: number): Json | undefined {
  reader.at = skipBlanks(reader.text, reader.at);
  const first = reader.text.charAt(reader.at);
  if (depth > deepest) return undefined;
  if (first === "{") return readObject(reader, depth);
  if (first === "[") return readArray(reader, depth);
  if (first === '"') return readString(reader);
  for (const [word, value] of words) {
    if (!reader.text.startsWith(word, reader.at)) continue;
    reader.at += word.length;
    return value;
  }
  return readNumber(reader);
}

const words = [
  ["true", true],
  ["false", false],
  ["null", null],
] as const;

function readObject(reader: Reader, depth: number): Json | undefined {
  const object = new Map<string, Json>();
  reader.at += 1;
  if (takes(reader, "}")) return object;
  do {
    reader.at = skipBlanks(reader.text, reader.at);
    const key = readString(reader);
    if (key === undefined || !takes(reader, ":")) return undefined;
    const value = readValue(reader, depth + 1);
    if (value === undefined) return undefined;
    object.set(key, value);
  } while (takes(reader, ","));
  return takes(reader, "}") ? object : undefined;
}

function readArray(reader: Reader, depth: number): Json | undefined {
  const array: Json[] = [];
  reader.at += 1;
  if (takes(reader, "]")) return array;
  do {
    const value = readValue(reader, depth + 1);
    if (value === undefined) return undefined;
    array.push(value);
  } while (takes(reader, ","));
  return takes(reader, "]") ? array : undefined;
}

function takes(reader: Reader, symbol: string): boolean {
  const at = skipBlanks(reader.text, reader.at);
  if (reader.text.charAt(at) !== symbol) return false;
  reader.at = at + 1;
  return true;
}

/** Where the next character that is no blank stands. */
export function skipBlanks(text: string, from: number): number {
  let at = from;
  while (at < text.length && " \t\r\n".includes(text.charAt(at))) at += 1;
  return at;
}

const escapes: Record<string, string> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

function readString(reader: Reader): string | undefined {
  const { text } = reader;
  if (text.charAt(reader.at) !== '"') return undefined;
  const start = reader.at + 1;
  const quote = text.indexOf('"', start);
  if (quote < 0) return undefined;
  const plain = text.slice(start, quote);
  if (plain.includes("\\")) return readEscaped(reader, start);
  reader.at = quote + 1;
  return plain;
}

function readEscaped(reader: Reader, from: number): string | undefined {
  const { text } = reader;
  const parts: string[] = [];
  let start = from;
  for (let at = start; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === '"') {
      parts.push(text.slice(start, at));
      reader.at = at + 1;
      return parts.join("");
    }
    if (character !== "\\") continue;
    const mark = text.charAt(at + 1);
    const code = mark === "u" ? hexCode(text.slice(at + 2, at + 6)) : undefined;
    const meaning = code === undefined ? escapes[mark] : String.fromCharCode(code);
    if (meaning === undefined) return undefined;
    parts.push(text.slice(start, at), meaning);
    at += code === undefined ? 1 : 5;
    start = at + 1;
  }
  return undefined;
}

function hexCode(digits: string): number | undefined {
  return /^[0-9a-fA-F]{4}$/.test(digits) ? Number.parseInt(digits, 16) : undefined;
}

const numeral = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

function readNumber(reader: Reader): JsonNumber | undefined {
  numeral.lastIndex = reader.at;
  const match = numeral.exec(reader.text);
  if (match === null) return undefined;
  reader.at += match[0].length;
  return { number: numberKey(match[0]) };
}

/** A numeral's value as its significant digits and a power of ten: 1.50 and 15e-1 give "15e-1". */
export function numberKey(numeral: string): string {
  const [mantissa = "", exponent = "0"] = numeral.toLowerCase().split("e");
  const negative = mantissa.startsWith("-");
  const [whole = "", decimals = ""] = mantissa.replace(/^[-+]/, "").split(".");
  const digits = stripZeros(whole + decimals);
  if (digits.kept === "") return "0";
  const shift = digits.dropped - decimals.length;
  // An exponent is exact however long it is; a short one needs no big integer.
  const power =
    exponent.length < 9 ? Number(exponent) + shift : BigInt(exponent.slice(0, 400)) + BigInt(shift);
  return `${negative ? "-" : ""}${digits.kept}e${power}`;
}

/** Digits without the zeros at both ends, and how many were dropped at the right. */
function stripZeros(digits: string): { kept: string; dropped: number } {
  let end = digits.length;
  while (end > 0 && digits.charAt(end - 1) === "0") end -= 1;
  let start = 0;
  while (start < end && digits.charAt(start) === "0") start += 1;
  return { kept: digits.slice(start, end), dropped: digits.length - end };
}

/** A JavaScript value as JSON with exact numbers; undefined for what JSON has no place for, or past 100 levels. */
export function toJson(value: unknown, depth = 0): Json | undefined {
  if (value === null || typeof value === "boolean" || typeof value === "string") return value;
  if (typeof value === "bigint") return { number: numberKey(`${value}`) };
  if (typeof value === "number")
    return Number.isFinite(value) ? { number: numberKey(`${value}`) } : undefined;
  if (typeof value !== "object" || depth > deepest) return undefined;
  if (Array.isArray(value)) {
    const items = value.map((item) => toJson(item, depth + 1));
    return items.includes(undefined) ? undefined : (items as Json[]);
  }
  const object = new Map<string, Json>();
  for (const [key, part] of value instanceof Map ? value : Object.entries(value)) {
    const json = toJson(part, depth + 1);
    if (json === undefined && part !== undefined) return undefined;
    if (json !== undefined) object.set(String(key), json);
  }
  return object;
}

/** True for equal values: numbers by value, true never 1, arrays in order, objects in any order of keys. */
export function sameJson(left: Json, right: Json): boolean {
  if (left === right) return true;
  if (left === null || right === null || typeof left !== "object" || typeof right !== "object")
    return false;
  if (Array.isArray(left)) {
    if (!Array.isArray(right) || left.length !== right.length) return false;
    return left.every((item, at) => sameJson(item, right[at] as Json));
  }
  if (left instanceof Map) {
    if (!(right instanceof Map) || left.size !== right.size) return false;
    return [...left].every(
      ([key, value]) => right.has(key) && sameJson(value, right.get(key) as Json),
    );
  }
  return "number" in right && left.number === right.number;
}

/** A value as JSON text, numbers in plain digits where they are short. */
export function jsonText(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(jsonText).join(", ")}]`;
  if (value instanceof Map) {
    return `{${[...value].map(([key, part]) => `${JSON.stringify(key)}: ${jsonText(part)}`).join(", ")}}`;
  }
  if (typeof value === "object" && value !== null) return numeralText(value.number);
  return JSON.stringify(value);
}

function numeralText(key: string): string {
  const [digits = "0", power = "0"] = key.split("e");
  const shift = Number(power);
  if (shift === 0) return digits;
  if (shift > 0 && shift <= 20) return digits + "0".repeat(shift);
  return shift < 0 && shift > -20 ? `${Number(key)}` : key;
}
