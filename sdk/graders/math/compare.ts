import { asIntervals, isReals, sameIntervals } from "./intervals.js";
import { sameRelation } from "./same-relation.js";
import { type Comparison, mentionsPi, nodeKey, sameValue } from "./same-value.js";
import type { Answer, Node } from "./syntax.js";
import { isSameUnit, sameUnit } from "./units.js";

/** The conventions that a comparison follows. */
export interface Conventions extends Comparison {
  /** "either": 50% is 50 and 0.5; "number": 50% is 50; "fraction": 50% is 0.5. */
  percent: "either" | "number" | "fraction";
  /** "known": two known units must agree, a missing one is left open; "ignore": units never matter. */
  units: "known" | "ignore";
  /** Whether several answers side by side may stand in any order. */
  listOrder: "any" | "kept";
}

/** True where two answers say the same. */
export function sameAnswer(left: Answer, right: Answer, conventions: Conventions): boolean {
  if (left.kind === "relation" || right.kind === "relation")
    return sameWithRelation(left, right, conventions);
  if (left.kind === "value" && right.kind === "value")
    return sameQuantity(left, right, conventions);
  if (left.kind === "group" && right.kind === "group") return sameGroup(left, right, conventions);
  if (isReals(left) || isReals(right)) return sameAsIntervals(left, right, conventions);
  if (left.kind === "ratio" || right.kind === "ratio") return sameRatio(left, right, conventions);
  if (left.kind === "text" || right.kind === "text") return sameText(left, right);
  if (left.kind === "based" || right.kind === "based") return sameBased(left, right);
  if (left.kind === "matrix" || right.kind === "matrix")
    return sameMatrix(left, right, conventions);
  if (left.kind === "union" || right.kind === "union")
    return sameAsIntervals(left, right, conventions);
  return false;
}

type Value = Extract<Answer, { kind: "value" }>;
type Group = Extract<Answer, { kind: "group" }>;

function sameQuantity(left: Value, right: Value, conventions: Conventions): boolean {
  if (conventions.units === "known" && !sameUnit(left.unit, right.unit)) return false;
  if (left.percent === right.percent) {
    if (sameName(left.node, right.node)) return true;
    if (sameValue(left.node, right.node, conventions)) return true;
    return sameAngle(left, right, conventions) || sameBareUnit(left, right, conventions);
  }
  const [percent, plain] = left.percent ? [left.node, right.node] : [right.node, left.node];
  const { percent: policy } = conventions;
  if (policy !== "fraction" && sameValue(percent, plain, conventions)) return true;
  return policy !== "number" && sameValue({ kind: "percent", of: percent }, plain, conventions);
}

/** An angle in degrees beside one in radians, told by its pi: 90° is pi/2. */
function sameAngle(left: Value, right: Value, conventions: Conventions): boolean {
  const [degrees, radians] = left.unit === "degree" ? [left, right] : [right, left];
  if (degrees.unit !== "degree" || radians.unit !== "" || !mentionsPi(radians.node)) return false;
  const half: Node = { kind: "number", text: "180", repeating: "" };
  const perDegree: Node = { kind: "divide", left: { kind: "name", name: "pi" }, right: half };
  return sameValue(product(degrees.node, perDegree), radians.node, conventions);
}

/** `100 m` beside `100 meters`: the letter that multiplies is the other's unit. */
function sameBareUnit(left: Value, right: Value, conventions: Conventions): boolean {
  const [bare, named] = left.unit === "" ? [left, right] : [right, left];
  const { node } = bare;
  if (
    bare.unit !== "" ||
    named.unit === "" ||
    node.kind !== "multiply" ||
    node.right.kind !== "name"
  )
    return false;
  if (!isSameUnit(node.right.name, named.unit)) return false;
  return sameValue(node.left, named.node, conventions);
}

/** Two lone letters are choices or labels: B is b. */
function sameName(left: Node, right: Node): boolean {
  if (left.kind !== "name" || right.kind !== "name") return false;
  return left.name.length === 1 && left.name.toLowerCase() === right.name.toLowerCase();
}

function sameGroup(left: Group, right: Group, conventions: Conventions): boolean {
  if (isSet(left) || isSet(right)) {
    // A set matches a set, and several answers side by side; never a tuple.
    if (isTuple(left) || isTuple(right)) return false;
    return sameSet(left.items, right.items, conventions);
  }
  const bare = left.open === "" || right.open === "";
  const any = conventions.listOrder === "any";
  if (left.open === "" && right.open === "" && any)
    return sameItems(left.items, right.items, conventions);
  if (!bare && left.items.length === 2 && (left.open !== right.open || left.close !== right.close))
    return false;
  return sameSequence(left.items, right.items, conventions);
}

function isSet(group: Group): boolean {
  return group.open === "{";
}

function isTuple(group: Group): boolean {
  return group.open === "(" || group.open === "[";
}

function sameSequence(left: Answer[], right: Answer[], conventions: Conventions): boolean {
  if (left.length !== right.length) return false;
  return left.every((item, at) => sameAnswer(item, right[at] as Answer, conventions));
}

/** The same items as often, in any order. */
function sameItems(left: Answer[], right: Answer[], conventions: Conventions): boolean {
  if (left.length !== right.length) return false;
  const [ours, theirs] = withoutTwins(left, right);
  return ours.every((item) => {
    const at = theirs.findIndex((other) => sameAnswer(item, other, conventions));
    if (at >= 0) theirs.splice(at, 1);
    return at >= 0;
  });
}

/** What is left of two lists after each item has met one that is written like it. */
function withoutTwins(left: Answer[], right: Answer[]): [Answer[], Answer[]] {
  const byKey = new Map<string, Answer[]>();
  for (const item of right) {
    const key = JSON.stringify(item);
    const twins = byKey.get(key);
    if (twins === undefined) byKey.set(key, [item]);
    else twins.push(item);
  }
  const ours = left.filter((item) => byKey.get(JSON.stringify(item))?.pop() === undefined);
  const theirs = [...byKey.values()].flat();
  return [ours, theirs];
}

/** Sets: each item of one stands in the other, however often. */
function sameSet(left: Answer[], right: Answer[], conventions: Conventions): boolean {
  const within = (items: Answer[], all: Answer[]) =>
    items.every((item) => all.some((other) => sameAnswer(item, other, conventions)));
  if (left.length === right.length && sameItems(left, right, conventions)) return true;
  return within(left, right) && within(right, left);
}

function sameRatio(left: Answer, right: Answer, conventions: Conventions): boolean {
  const [a, b] = [ratioParts(left), ratioParts(right)];
  if (a === null || b === null || a.length !== b.length) return false;
  const [a0, b0] = [a[0] as Node, b[0] as Node];
  return a.every((part, at) => {
    const other = b[at] as Node;
    const cross = sameValue(product(part, b0), product(other, a0), conventions);
    return cross && isZero(part, conventions) === isZero(other, conventions);
  });
}

/** A ratio's parts; a fraction is the ratio of its two parts. */
function ratioParts(answer: Answer): Node[] | null {
  if (answer.kind === "ratio") return answer.parts;
  if (answer.kind !== "value" || answer.percent) return null;
  const { node } = answer;
  if (node.kind === "divide") return [node.left, node.right];
  return [node, { kind: "number", text: "1", repeating: "" }];
}

function product(left: Node, right: Node): Node {
  return { kind: "multiply", left, right };
}

function isZero(node: Node, conventions: Conventions): boolean {
  return sameValue(node, { kind: "number", text: "0", repeating: "" }, conventions);
}

function sameText(left: Answer, right: Answer): boolean {
  const [a, b] = [textOf(left), textOf(right)];
  return a !== null && a !== "" && a === b;
}

/** An answer's words; for an expression, only where it is a name or names side by side. */
function textOf(answer: Answer): string | null {
  if (answer.kind === "text") return answer.text;
  return answer.kind === "value" ? spelling(answer.node) : null;
}

function spelling(node: Node): string | null {
  if (node.kind === "name") return node.name.toLowerCase();
  if (node.kind !== "multiply") return null;
  const [left, right] = [spelling(node.left), spelling(node.right)];
  return left === null || right === null ? null : left + right;
}

/** Numerals in a base are compared as written: 101 matches 101_2, 5 does not. */
function sameBased(left: Answer, right: Answer): boolean {
  const [a, b] = [numeral(left), numeral(right)];
  if (a === null || b === null || a.digits !== b.digits) return false;
  return a.base === null || b.base === null || a.base === b.base;
}

function numeral(answer: Answer): { digits: string; base: string | null } | null {
  if (answer.kind === "based") return answer;
  if (answer.kind !== "value" || answer.node.kind !== "number") return null;
  return { digits: nodeKey(answer.node), base: null };
}

function sameMatrix(left: Answer, right: Answer, conventions: Conventions): boolean {
  const [a, b] = [matrixRows(left), matrixRows(right)];
  if (a === null || b === null || a.length !== b.length) return false;
  if (isDeterminant(left) !== isDeterminant(right)) return false;
  return a.every((row, at) => {
    const other = b[at] as Node[];
    return (
      row.length === other.length &&
      row.every((cell, column) => sameValue(cell, other[column] as Node, conventions))
    );
  });
}

function isDeterminant(answer: Answer): boolean {
  return answer.kind === "matrix" && answer.determinant;
}

/** A matrix's rows; a tuple of plain values is a column. */
function matrixRows(answer: Answer): Node[][] | null {
  if (answer.kind === "matrix") return answer.rows;
  if (answer.kind !== "group" || answer.open !== "(" || answer.close !== ")") return null;
  const cells = answer.items.map((item) =>
    item.kind === "value" && !item.percent ? [item.node] : null,
  );
  return cells.some((cell) => cell === null) ? null : (cells as Node[][]);
}

function sameWithRelation(left: Answer, right: Answer, conventions: Conventions): boolean {
  if (left.kind === "relation" && right.kind === "relation") {
    if (left.name !== null && left.name === right.name)
      return sameAnswer(valueSide(left), valueSide(right), conventions);
    return sameRelation(left, right, conventions) || sameAsIntervals(left, right, conventions);
  }
  const [relation, other] = left.kind === "relation" ? [left, right] : [right, left];
  if (relation.kind !== "relation") return false;
  if (relation.name !== null) return sameAnswer(valueSide(relation), other, conventions);
  return sameAsSolution(relation, other, conventions) || sameAsIntervals(left, right, conventions);
}

type Relation = Extract<Answer, { kind: "relation" }>;

function valueSide(relation: Relation): Answer {
  return relation.sides.at(-1) as Answer;
}

/** `5 = x` and `2 + 3 = 5` say 5: the side beside a lone name, or beside an expression without names, is the value. */
function sameAsSolution(relation: Relation, other: Answer, conventions: Conventions): boolean {
  if (relation.operators.length !== 1 || relation.operators[0] !== "=") return false;
  const [first, second] = relation.sides as [Answer, Answer];
  if (second.kind === "value" && second.node.kind === "name")
    return sameAnswer(first, other, conventions);
  return sameAnswer(first, second, conventions) && sameAnswer(second, other, conventions);
}

function sameAsIntervals(left: Answer, right: Answer, conventions: Conventions): boolean {
  const [a, b] = [asIntervals(left), asIntervals(right)];
  return a !== null && b !== null && sameIntervals(a, b, conventions);
}
