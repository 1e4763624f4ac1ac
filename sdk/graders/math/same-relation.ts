import type { Comparison } from "./same-value.js";
import { hasName, sameValue } from "./same-value.js";
import type { Answer, Node, Operator } from "./syntax.js";

type Relation = Extract<Answer, { kind: "relation" }>;

/** One relation as `difference operator 0`, with `<`, `<=`, `=` or `!=`. */
interface Difference {
  operator: Operator;
  difference: Node;
}

/** True where two equations, or two chains of inequalities, say the same: 2x + 2y = 6 and x + y = 3. */
export function sameRelation(left: Relation, right: Relation, comparison: Comparison): boolean {
  const [a, b] = [differences(left), differences(right)];
  if (a === null || b === null || a.length !== b.length) return false;
  const open = [...b];
  return a.every((one) => {
    const at = open.findIndex((other) => sameDifference(one, other, comparison));
    if (at >= 0) open.splice(at, 1);
    return at >= 0;
  });
}

function differences(relation: Relation): Difference[] | null {
  const result: Difference[] = [];
  for (const [at, operator] of relation.operators.entries()) {
    const [left, right] = [relation.sides[at], relation.sides[at + 1]];
    if (left?.kind !== "value" || right?.kind !== "value" || operator === "in") return null;
    const turned = operator === ">" || operator === ">=";
    const [low, high] = turned ? [right.node, left.node] : [left.node, right.node];
    const difference: Node = { kind: "add", left: low, right: { kind: "negate", of: high } };
    result.push({ operator: turned ? (operator === ">" ? "<" : "<=") : operator, difference });
  }
  return result;
}

/** Multiples of each other by a constant: any but zero for equations, a positive one for inequalities. */
function sameDifference(left: Difference, right: Difference, comparison: Comparison): boolean {
  if (left.operator !== right.operator) return false;
  if (sameValue(left.difference, right.difference, comparison)) return true;
  const equation = left.operator === "=" || left.operator === "!=";
  if (equation && sameValue(left.difference, { kind: "negate", of: right.difference }, comparison))
    return true;
  return proportional(left.difference, right.difference, equation, comparison);
}

/** Compares cross products with both expressions at fixed values of their names. */
function proportional(left: Node, right: Node, either: boolean, comparison: Comparison): boolean {
  if (!hasName(left) || !hasName(right)) return false;
  const [a, b] = [atFixedNames(left), atFixedNames(right)];
  const cross = sameValue(product(left, b), product(right, a), comparison);
  if (!cross || isZero(a, comparison) || isZero(b, comparison)) return false;
  if (either) return true;
  const ratio: Node = { kind: "divide", left: a, right: b };
  return sameValue({ kind: "call", name: "abs", args: [ratio] }, ratio, comparison);
}

function product(left: Node, right: Node): Node {
  return { kind: "multiply", left, right };
}

function isZero(node: Node, comparison: Comparison): boolean {
  return sameValue(node, { kind: "number", text: "0", repeating: "" }, comparison);
}

const constants = new Set(["pi", "e", "i", "infty"]);

/** An expression with a fixed odd number in the place of each name. */
function atFixedNames(node: Node): Node {
  switch (node.kind) {
    case "number":
      return node;
    case "name":
      return constants.has(node.name)
        ? node
        : { kind: "number", text: fixedValue(node.name), repeating: "" };
    case "call":
      return { ...node, args: node.args.map(atFixedNames) };
    case "negate":
    case "factorial":
    case "percent":
    case "degrees":
      return { ...node, of: atFixedNames(node.of) };
    default:
      return { ...node, left: atFixedNames(node.left), right: atFixedNames(node.right) };
  }
}

function fixedValue(name: string): string {
  let value = 0;
  for (let at = 0; at < name.length; at++) value = (value * 131 + name.charCodeAt(at)) % 7919;
  return `${value * 2 + 1}`;
}
