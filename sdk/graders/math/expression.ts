import { functions } from "./commands.js";
import { type Node, type Token, unreadable } from "./syntax.js";

/** A place in a run of tokens, and how deep the reader is inside brackets. */
export interface Reader {
  tokens: Token[];
  at: number;
  depth: number;
  /** Open absolute values: there the next bar closes. */
  bars: number;
}

const deepest = 60;

/** Reads a sum, the widest expression; leaves the reader after it. Throws `unreadable`. */
export function readSum(reader: Reader): Node {
  if (++reader.depth > deepest) throw unreadable;
  let left = readProduct(reader);
  for (;;) {
    const sign = symbolAt(reader);
    if (sign !== "+" && sign !== "-") break;
    reader.at += 1;
    const right = readProduct(reader);
    left = { kind: "add", left, right: sign === "-" ? { kind: "negate", of: right } : right };
  }
  if (isCommand(reader, "choose")) {
    reader.at += 1;
    left = { kind: "call", name: "binom", args: [left, readSum(reader)] };
  }
  reader.depth -= 1;
  return left;
}

function readProduct(reader: Reader): Node {
  let left = readSigned(reader);
  for (;;) {
    const symbol = symbolAt(reader);
    if (symbol === "*" || symbol === "/") {
      reader.at += 1;
      const kind = symbol === "*" ? "multiply" : "divide";
      left = { kind, left, right: readSigned(reader) };
    } else if (startsFactor(reader)) {
      // Two numbers side by side are not a product: "5 7" is not 35.
      const [last, next] = [reader.tokens[reader.at - 1], reader.tokens[reader.at]];
      if (next?.kind === "number" && last?.kind === "number") throw unreadable;
      left = { kind: "multiply", left, right: readPower(reader) };
    } else return left;
  }
}

function readSigned(reader: Reader): Node {
  let negative = false;
  for (;;) {
    const sign = symbolAt(reader);
    if (sign !== "+" && sign !== "-") break;
    negative = negative !== (sign === "-");
    reader.at += 1;
  }
  const of = readPower(reader);
  return negative ? { kind: "negate", of } : of;
}

function readPower(reader: Reader): Node {
  return readPostfix(reader, readPrimary(reader));
}

/** What may follow an operand: powers, degrees, percent, factorials. */
function readPostfix(reader: Reader, operand: Node): Node {
  let node = operand;
  for (;;) {
    const symbol = symbolAt(reader);
    if (symbol === "!" || symbol === "%") {
      reader.at += 1;
      node = { kind: symbol === "!" ? "factorial" : "percent", of: node };
    } else if (symbol === "^" || isCommand(reader, "circ")) {
      if (symbol === "^") reader.at += 1;
      if (readsDegree(reader)) node = { kind: "degrees", of: node };
      else node = { kind: "power", left: node, right: readExponent(reader) };
    } else return node;
  }
}

/** Takes a degree mark, in braces or not, where one stands. */
function readsDegree(reader: Reader): boolean {
  const braces = symbolAt(reader) === "{";
  const mark = reader.tokens[reader.at + (braces ? 1 : 0)];
  if (mark?.kind !== "command" || mark.value !== "circ") return false;
  if (braces && reader.tokens[reader.at + 2]?.value !== "}") return false;
  reader.at += braces ? 3 : 1;
  return true;
}

function readExponent(reader: Reader): Node {
  if (++reader.depth > deepest) throw unreadable;
  const sign = symbolAt(reader);
  if (sign === "-" || sign === "+") reader.at += 1;
  const value = readPrimary(reader);
  // A tower is read from the right: 2^3^4 is 2^(3^4).
  const tower = symbolAt(reader) === "^" ? readPostfix(reader, value) : value;
  reader.depth -= 1;
  return sign === "-" ? { kind: "negate", of: tower } : tower;
}

/** True where the next token begins an operand, so that what stands before multiplies it. */
function startsFactor(reader: Reader): boolean {
  const token = reader.tokens[reader.at];
  if (token === undefined) return false;
  if (token.kind === "number" || token.kind === "letter") return true;
  if (token.kind === "command")
    return operandCommands.has(token.value) || functions.has(token.value);
  if (token.kind !== "symbol") return false;
  return token.value === "(" || token.value === "{" || (token.value === "|" && reader.bars === 0);
}

const operandCommands = new Set("frac sqrt binom pi infty lfloor lceil gcd lcm max min".split(" "));

function readPrimary(reader: Reader): Node {
  const token = reader.tokens[reader.at];
  if (token === undefined) throw unreadable;
  reader.at += 1;
  if (token.kind === "number") return readMixed(reader, token);
  if (token.kind === "letter") return { kind: "name", name: token.value + readSubscript(reader) };
  if (token.kind === "command") return readCommand(reader, token.value);
  if (
    token.kind === "symbol" &&
    (token.value === "(" || token.value === "{" || token.value === "[")
  ) {
    return readBracketed(reader, closing[token.value] as string);
  }
  if (token.kind === "symbol" && token.value === "|") return readBars(reader);
  throw unreadable;
}

const closing: Record<string, string> = { "(": ")", "{": "}", "[": "]" };

function readBracketed(reader: Reader, close: string): Node {
  const bars = reader.bars;
  reader.bars = 0;
  const node = readSum(reader);
  expectSymbol(reader, close);
  reader.bars = bars;
  return node;
}

function readBars(reader: Reader): Node {
  reader.bars += 1;
  const of = readSum(reader);
  expectSymbol(reader, "|");
  reader.bars -= 1;
  return { kind: "call", name: "abs", args: [of] };
}

/** A number, or a mixed one: 3\frac{1}{3} and 3 1/3 are three and a third. */
function readMixed(reader: Reader, token: Token): Node {
  const node: Node = { kind: "number", text: token.value, repeating: token.repeating ?? "" };
  if (!isInteger(token)) return node;
  const next = reader.tokens[reader.at];
  const start = reader.at;
  let part: Node | null = null;
  if (next?.kind === "command" && next.value === "frac") {
    reader.at += 1;
    part = readCommand(reader, "frac");
  } else if (
    next?.kind === "number" &&
    next.spaced &&
    reader.tokens[reader.at + 1]?.value === "/"
  ) {
    const under = reader.tokens[reader.at + 2];
    if (isInteger(next) && under !== undefined && isInteger(under)) {
      reader.at += 3;
      part = { kind: "divide", left: numberNode(next), right: numberNode(under) };
    }
  }
  if (part !== null && isProperFraction(part)) return { kind: "add", left: node, right: part };
  reader.at = start;
  return node;
}

function numberNode(token: Token): Node {
  return { kind: "number", text: token.value, repeating: token.repeating ?? "" };
}

function isInteger(token: Token): boolean {
  return token.kind === "number" && token.repeating === undefined && /^\d+$/.test(token.value);
}

function isProperFraction(node: Node): boolean {
  if (node.kind !== "divide" || node.left.kind !== "number" || node.right.kind !== "number")
    return false;
  const [above, below] = [node.left.text, node.right.text];
  return /^\d{1,15}$/.test(above) && /^\d{1,15}$/.test(below) && Number(above) < Number(below);
}

function readCommand(reader: Reader, name: string): Node {
  if (name === "frac")
    return { kind: "divide", left: readArgument(reader), right: readArgument(reader) };
  if (name === "binom")
    return { kind: "call", name, args: [readArgument(reader), readArgument(reader)] };
  if (name === "sqrt") return readRoot(reader);
  if (name === "pi" || name === "infty") return { kind: "name", name };
  if (name === "lfloor" || name === "lceil") return readRounded(reader, name);
  if (name === "gcd" || name === "lcm" || name === "max" || name === "min")
    return readList(reader, name);
  if (functions.has(name)) return readFunction(reader, name);
  throw unreadable;
}

function readRoot(reader: Reader): Node {
  const indexed = symbolAt(reader) === "[";
  if (indexed) reader.at += 1;
  const index = indexed ? readBracketed(reader, "]") : null;
  const of = readArgument(reader);
  const two: Node = { kind: "number", text: "2", repeating: "" };
  const one: Node = { kind: "number", text: "1", repeating: "" };
  return { kind: "power", left: of, right: { kind: "divide", left: one, right: index ?? two } };
}

function readRounded(reader: Reader, name: string): Node {
  const of = readSum(reader);
  if (!isCommand(reader, name.replace("l", "r"))) throw unreadable;
  reader.at += 1;
  return { kind: "call", name: name === "lfloor" ? "floor" : "ceil", args: [of] };
}

function readList(reader: Reader, name: string): Node {
  expectSymbol(reader, "(");
  const args = [readSum(reader)];
  while (symbolAt(reader) === ",") {
    reader.at += 1;
    args.push(readSum(reader));
  }
  expectSymbol(reader, ")");
  return { kind: "call", name, args };
}

/** A function with its base, its power and its argument: \log_2 8, \sin^2 x, \sin 2x, \sin(x). */
function readFunction(reader: Reader, name: string): Node {
  let base: Node | null = null;
  let power: Node | null = null;
  for (;;) {
    const symbol = symbolAt(reader);
    if (symbol === "_" && base === null) {
      reader.at += 1;
      base = readPrimary(reader);
    } else if (symbol === "^" && power === null) {
      reader.at += 1;
      power = readExponent(reader);
    } else break;
  }
  const inverse = power?.kind === "negate" && power.of.kind === "number" && power.of.text === "1";
  const args = [readFunctionArgument(reader), ...(base === null ? [] : [base])];
  const call: Node = {
    kind: "call",
    name: inverse && name.length === 3 ? `arc${name}` : name,
    args,
  };
  if (power === null || inverse) return call;
  return { kind: "power", left: call, right: power };
}

function readFunctionArgument(reader: Reader): Node {
  if (++reader.depth > deepest) throw unreadable;
  const symbol = symbolAt(reader);
  let node: Node;
  if (symbol === "(" || symbol === "{") node = readPower(reader);
  else {
    node = readSigned(reader);
    while (startsFactor(reader) && !startsFunction(reader)) {
      node = { kind: "multiply", left: node, right: readPower(reader) };
    }
  }
  reader.depth -= 1;
  return node;
}

function startsFunction(reader: Reader): boolean {
  const token = reader.tokens[reader.at];
  return token?.kind === "command" && functions.has(token.value);
}

/** One argument as TeX takes it: a group, or one token; \frac12 is a half. */
function readArgument(reader: Reader): Node {
  const token = reader.tokens[reader.at];
  if (token?.kind !== "number" || token.value.length === 1) return readPrimaryDeep(reader);
  const first: Node = { kind: "number", text: token.value.charAt(0), repeating: "" };
  reader.tokens = [...reader.tokens];
  reader.tokens[reader.at] = { ...token, value: token.value.slice(1), spaced: false };
  return first;
}

function readPrimaryDeep(reader: Reader): Node {
  if (++reader.depth > deepest) throw unreadable;
  const node = readPrimary(reader);
  reader.depth -= 1;
  return node;
}

/** A name's subscript and primes, as they stand. */
function readSubscript(reader: Reader): string {
  let suffix = "";
  for (;;) {
    const symbol = symbolAt(reader);
    if (symbol === "'") {
      reader.at += 1;
      suffix += "'";
    } else if (symbol === "_") suffix += `_${readPlainGroup(reader)}`;
    else return suffix;
  }
}

function readPlainGroup(reader: Reader): string {
  reader.at += 1;
  const first = reader.tokens[reader.at++];
  if (first === undefined) throw unreadable;
  if (first.value !== "{") return first.value;
  let inside = "";
  for (;;) {
    const token = reader.tokens[reader.at++];
    if (token === undefined || token.value === "{") throw unreadable;
    if (token.value === "}") return inside;
    inside += token.value;
  }
}

export function symbolAt(reader: Reader): string | null {
  const token = reader.tokens[reader.at];
  return token?.kind === "symbol" ? token.value : null;
}

function isCommand(reader: Reader, name: string): boolean {
  const token = reader.tokens[reader.at];
  return token?.kind === "command" && token.value === name;
}

function expectSymbol(reader: Reader, symbol: string): void {
  if (symbolAt(reader) !== symbol) throw unreadable;
  reader.at += 1;
}
