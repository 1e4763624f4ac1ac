import { bracketStep } from "./brackets.js";
import type { Answer, Operator, Token } from "./syntax.js";
import { unreadable } from "./syntax.js";

const operators = new Map<string, Operator>(
  (["=", "!=", "<", "<=", ">", ">="] as const).map((operator) => [operator, operator]),
);

const longestChain = 8;

function operatorOf(token: Token): Operator | null {
  if (token.kind === "command") return token.value === "in" ? "in" : null;
  return token.kind === "symbol" ? (operators.get(token.value) ?? null) : null;
}

/** True where a relation sign stands outside all brackets. */
export function hasRelation(tokens: Token[]): boolean {
  let depth = 0;
  for (const token of tokens) {
    depth += bracketStep(token);
    if (depth === 0 && operatorOf(token) !== null) return true;
  }
  return false;
}

/**
 * A relation such as `x = 5`, `2 < x \le 7` or `x \in [1, 2]`. Where the left side of an equation only names
 * what is on the right (`x`, `f(x)`, `\text{Area}`), the name is kept apart; a chain of equations says its last side.
 */
export function readRelation(tokens: Token[], read: (tokens: Token[]) => Answer): Answer {
  const { sides, signs } = splitSides(tokens);
  if (signs.length > longestChain || sides.some((side) => side.length === 0)) throw unreadable;
  const name = nameOf(sides[0] as Token[]);
  const equations = signs.every((sign) => sign === "=" || sign === "in");
  if (name !== null && equations) {
    const value = read(sides.at(-1) as Token[]);
    return {
      kind: "relation",
      name,
      sides: [readName(sides[0] as Token[], read), value],
      operators: ["="],
    };
  }
  if (equations && signs.length > 1) return read(sides.at(-1) as Token[]);
  return { kind: "relation", name: null, sides: sides.map(read), operators: signs };
}

/** The side that names, as an answer: text where it is no expression. */
function readName(side: Token[], read: (tokens: Token[]) => Answer): Answer {
  try {
    return read(side);
  } catch (thrown) {
    if (thrown !== unreadable) throw thrown;
    return { kind: "text", text: side.map((token) => token.value).join("") };
  }
}

function splitSides(tokens: Token[]): { sides: Token[][]; signs: Operator[] } {
  const sides: Token[][] = [];
  const signs: Operator[] = [];
  let depth = 0;
  let start = 0;
  for (const [at, token] of tokens.entries()) {
    depth += bracketStep(token);
    const sign = depth === 0 ? operatorOf(token) : null;
    if (sign === null) continue;
    sides.push(tokens.slice(start, at));
    signs.push(sign);
    start = at + 1;
  }
  sides.push(tokens.slice(start));
  return { sides, signs };
}

const nameSymbols = new Set(["(", ")", "_", "'", "{", "}", ",", "|"]);
const nameCommands = new Set(["angle", "triangle", "pi"]);

/** What a side made only of letters, words and an argument names, as a key; null where it is an expression. */
function nameOf(side: Token[]): string | null {
  const [first] = side;
  if (first?.value === "(") return tupleName(side);
  if (first?.kind !== "letter" && first?.kind !== "text" && first?.value !== "angle") return null;
  let depth = 0;
  for (const [at, token] of side.entries()) {
    depth += bracketStep(token);
    const inside = depth > 0 || side[at - 1]?.value === "_";
    if (token.kind === "number" ? !inside : !isNamePart(token)) return null;
  }
  return side
    .map((token) => token.value)
    .join("")
    .toLowerCase();
}

/** Several names in brackets, as in (x, y) = (3, 4). */
function tupleName(side: Token[]): string | null {
  const inside = side.slice(1, -1);
  const names =
    inside.length > 1 && inside.every((token) => token.kind === "letter" || token.value === ",");
  return names && side.at(-1)?.value === ")"
    ? side
        .map((token) => token.value)
        .join("")
        .toLowerCase()
    : null;
}

function isNamePart(token: Token): boolean {
  if (token.kind === "letter" || token.kind === "text") return true;
  return token.kind === "symbol" ? nameSymbols.has(token.value) : nameCommands.has(token.value);
}
