import { type Comparison, hasName, sameValue } from "./same-value.js";
import type { Answer, Node, Operator } from "./syntax.js";

/** One interval; an end is closed where its bracket is square. */
interface Interval {
  low: Node;
  high: Node;
  lowClosed: boolean;
  highClosed: boolean;
}

const infinite: Node = { kind: "name", name: "infty" };
const minusInfinite: Node = { kind: "negate", of: infinite };

/** The intervals that an answer describes, (2, 5], x > 2 or a union of such; null where it is no set of numbers. */
export function asIntervals(answer: Answer): Interval[] | null {
  if (isReals(answer)) {
    return [{ low: minusInfinite, high: infinite, lowClosed: false, highClosed: false }];
  }
  if (answer.kind === "union") return joined(answer.parts.map(asIntervals));
  if (answer.kind === "relation") return relationIntervals(answer);
  if (answer.kind !== "group") return null;
  if (answer.open === "") {
    // Several inequalities side by side are read as "or"; plain numbers side by side are no intervals.
    return answer.items.every((item) => item.kind === "relation")
      ? joined(answer.items.map(asIntervals))
      : null;
  }
  return bracketInterval(answer);
}

/** All real numbers, as a symbol or in words. */
export function isReals(answer: Answer): boolean {
  if (answer.kind === "text") return /^(all )?real(s| numbers)$/.test(answer.text);
  return answer.kind === "value" && answer.node.kind === "name" && answer.node.name === "mathbb R";
}

function joined(parts: (Interval[] | null)[]): Interval[] | null {
  return parts.some((part) => part === null) ? null : (parts as Interval[][]).flat();
}

function bracketInterval(group: Extract<Answer, { kind: "group" }>): Interval[] | null {
  const [low, high] = group.items;
  if (
    group.items.length !== 2 ||
    group.open === "{" ||
    low?.kind !== "value" ||
    high?.kind !== "value"
  )
    return null;
  return [
    {
      low: low.node,
      high: high.node,
      lowClosed: group.open === "[",
      highClosed: group.close === "]",
    },
  ];
}

function relationIntervals(relation: Extract<Answer, { kind: "relation" }>): Interval[] | null {
  const { operators } = relation;
  if (relation.name !== null) {
    const value = relation.sides.at(-1) as Answer;
    return value.kind === "relation" ? null : asIntervals(value);
  }
  const nodes = relation.sides.map((side) => (side.kind === "value" ? side.node : null));
  if (nodes.some((node) => node === null) || operators.length > 2) return null;
  const sides = nodes as Node[];
  const variable = sides.findIndex((node) => node.kind === "name" && hasName(node));
  if (variable < 0 || sides.some((node, at) => at !== variable && hasName(node))) return null;
  return operators.length === 1
    ? ray(sides, operators[0] as Operator, variable)
    : segment(sides, operators, variable);
}

function ray(sides: Node[], operator: Operator, variable: number): Interval[] | null {
  if (operator === "=" || operator === "!=" || operator === "in") return null;
  const closed = operator.endsWith("=");
  const bound = sides[1 - variable] as Node;
  const above = operator.startsWith(">") === (variable === 0);
  return above
    ? [{ low: bound, high: infinite, lowClosed: closed, highClosed: false }]
    : [{ low: minusInfinite, high: bound, lowClosed: false, highClosed: closed }];
}

function segment(sides: Node[], operators: Operator[], variable: number): Interval[] | null {
  const [first, second] = operators as [Operator, Operator];
  if (variable !== 1) return null;
  const [low, , high] = sides as [Node, Node, Node];
  if (first.startsWith("<") && second.startsWith("<")) {
    return [{ low, high, lowClosed: first === "<=", highClosed: second === "<=" }];
  }
  if (!first.startsWith(">") || !second.startsWith(">")) return null;
  return [{ low: high, high: low, lowClosed: second === ">=", highClosed: first === ">=" }];
}

/** True where two unions have the same intervals, in any order. */
export function sameIntervals(
  left: Interval[],
  right: Interval[],
  comparison: Comparison,
): boolean {
  if (left.length !== right.length) return false;
  const open = [...right];
  return left.every((one) => {
    const at = open.findIndex((other) => sameInterval(one, other, comparison));
    if (at >= 0) open.splice(at, 1);
    return at >= 0;
  });
}

function sameInterval(left: Interval, right: Interval, comparison: Comparison): boolean {
  if (left.lowClosed !== right.lowClosed || left.highClosed !== right.highClosed) return false;
  return sameValue(left.low, right.low, comparison) && sameValue(left.high, right.high, comparison);
}
