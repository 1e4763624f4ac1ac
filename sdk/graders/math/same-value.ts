import { agreeAt, approximatePoints, isNear } from "./approximate.js";
import { type Budget, spend } from "./budget.js";
import { type ExactContext, evaluateExactly } from "./exact.js";
import type { Node } from "./syntax.js";
import { type Exact, sameExact, tooCostly, undefinedValue } from "./values.js";

/** How strictly two expressions are compared, and the work left for it. */
export interface Comparison {
  budget: Budget;
  /** Decimals of at least this many places match what they round; null: only exactly equal values match. */
  roundedPlaces: number | null;
}

const exactPoints = 2;

/**
 * True where two expressions have one value. Fractions, polynomials and rational functions are decided exactly (by
 * their values at two points, in whole numbers of forty bits); roots and functions by thirty-eight digits at
 * two points. What costs more than the budget, and what has no value, matches only what is written the same.
 */
export function sameValue(left: Node, right: Node, comparison: Comparison): boolean {
  const infinite = infinity(left);
  if (infinite !== 0 || infinity(right) !== 0) return infinite === infinity(right);
  if (!spend(comparison.budget, 2)) return false;
  try {
    if (equalOrUnknown(left, right, comparison.budget)) return true;
    return roundsTo(left, right, comparison) || roundsTo(right, left, comparison);
  } catch (thrown) {
    if (thrown !== undefinedValue && thrown !== tooCostly) throw thrown;
    return nodeKey(left) === nodeKey(right);
  }
}

/** 1 or -1 for an infinity, 0 for anything else. */
export function infinity(node: Node): number {
  if (node.kind === "name" && node.name === "infty") return 1;
  return node.kind === "negate" ? -infinity(node.of) : 0;
}

function equalOrUnknown(left: Node, right: Node, budget: Budget): boolean {
  const verdict = compareExactly(left, right, budget);
  if (verdict !== "unknown") return verdict === "equal";
  const points = hasName(left) || hasName(right) ? approximatePoints : 1;
  for (let point = 0; point < points; point++) {
    if (!agreeAt(left, right, budget, point)) return false;
  }
  return true;
}

function compareExactly(
  left: Node,
  right: Node,
  budget: Budget,
): "equal" | "different" | "unknown" {
  const context: ExactContext = { budget, point: 0, named: false, opaque: false, angles: false };
  for (let point = 0; point < exactPoints; point++) {
    context.point = point;
    const [a, b] = [exactValue(left, context), exactValue(right, context)];
    if (a === null || b === null) return "unknown";
    if (!sameExact(a, b)) return context.opaque ? "unknown" : "different";
    if (!context.named && !context.opaque) return "equal";
  }
  return "equal";
}

/** The exact value; null where the stand-ins for names or roots make it too long or one over zero: the digits decide. */
function exactValue(node: Node, context: ExactContext): Exact | null {
  try {
    return evaluateExactly(node, context);
  } catch (thrown) {
    if (thrown === undefinedValue && context.opaque) return null;
    if (thrown === tooCostly && context.named) return null;
    throw thrown;
  }
}

/** True where `decimal` has enough places, and `other`, no decimal itself, is within one unit of its last. */
function roundsTo(decimal: Node, other: Node, comparison: Comparison): boolean {
  const { roundedPlaces } = comparison;
  const number = decimal.kind === "negate" ? decimal.of : decimal;
  if (roundedPlaces === null || number.kind !== "number") return false;
  const places = decimalPlaces(number);
  if (places < roundedPlaces || hasDecimal(other) || hasName(other)) return false;
  const sign = decimal.kind === "negate" ? "-" : "";
  return isNear(other, sign + number.text, places, comparison.budget);
}

/** How many decimals a number is written with; 0 where they repeat. */
function decimalPlaces(number: Extract<Node, { kind: "number" }>): number {
  const match = /^\d*\.(\d+)$/.exec(number.text);
  return number.repeating === "" ? (match?.[1]?.length ?? 0) : 0;
}

function hasDecimal(node: Node): boolean {
  return someNode(
    node,
    (one) => one.kind === "number" && /[.e]/.test(one.text) && one.repeating === "",
  );
}

const constants = new Set(["pi", "e", "i"]);

/** True where an expression has a variable. */
export function hasName(node: Node): boolean {
  return someNode(node, (one) => one.kind === "name" && !constants.has(one.name));
}

export function mentionsPi(node: Node): boolean {
  return someNode(node, (one) => one.kind === "name" && one.name === "pi");
}

function someNode(node: Node, test: (node: Node) => boolean): boolean {
  const left = [node];
  for (let one = left.pop(); one !== undefined; one = left.pop()) {
    if (test(one)) return true;
    left.push(...children(one));
  }
  return false;
}

function children(node: Node): Node[] {
  if (node.kind === "number" || node.kind === "name") return [];
  if (node.kind === "call") return node.args;
  return "of" in node ? [node.of] : [node.left, node.right];
}

/** An expression as it was written, less its brackets' spelling. */
export function nodeKey(node: Node): string {
  if (node.kind === "number")
    return node.repeating === "" ? node.text : `${node.text}(${node.repeating})`;
  if (node.kind === "name") return node.name;
  if (node.kind === "call") return `${node.name}(${node.args.map(nodeKey).join()})`;
  return `${node.kind}(${children(node).map(nodeKey).join()})`;
}
