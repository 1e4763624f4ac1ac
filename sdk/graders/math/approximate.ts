import { Decimal } from "decimal.js";
import type { Budget } from "./budget.js";
import { evaluateExactly } from "./exact.js";
import type { Node } from "./syntax.js";
import { charge, readDecimal, tooCostly, undefinedValue } from "./values.js";

/** Fifty digits: enough that two different answers of a few lines never agree to thirty-eight. */
const Digits = Decimal.clone({ precision: 50, maxE: 1_000_000, minE: -1_000_000, toExpPos: 60 });
const agreement = new Digits("1e-38");

interface Complex {
  re: Decimal;
  im: Decimal;
}

/** How an expression is evaluated to fifty digits. */
export interface ApproximateContext {
  budget: Budget;
  /** Which values the names take; the last point is negative, so that x and |x| differ. */
  point: number;
  /** The largest summand so far: what cancelled is judged against it. */
  largest: Decimal;
  angles: boolean;
}

const none = new Digits(0);
const unit = new Digits(1);
const half = new Digits("0.5");
/** Points for names; each name adds its own share, so that no two names have one value. */
const points = ["1.378", "-0.743"] as const;
export const approximatePoints: number = points.length;

/** The costs of one operation at fifty digits, in steps of a microsecond. */
const cost = { small: 4, divide: 12, root: 60, slow: 300 } as const;

export function newApproximateContext(budget: Budget, point: number): ApproximateContext {
  return { budget, point, largest: none, angles: false };
}

/** True where two expressions agree to thirty-eight digits at one point; throws as `evaluate` does. */
export function agreeAt(left: Node, right: Node, budget: Budget, point: number): boolean {
  const context = newApproximateContext(budget, point);
  const a = evaluate(left, context);
  const b = evaluate(right, context);
  const size = Digits.max(magnitude(a), magnitude(b), context.largest);
  const difference = magnitude({ re: a.re.minus(b.re), im: a.im.minus(b.im) });
  return difference.lte(size.times(agreement));
}

/** True where an expression without variables is real and within one unit of a written decimal's last place. */
export function isNear(node: Node, decimal: string, places: number, budget: Budget): boolean {
  const value = evaluate(node, newApproximateContext(budget, 0));
  if (value.im.abs().gt(agreement)) return false;
  return value.re.minus(decimal).abs().lt(`1e-${places}`);
}

/** A complex value to fifty digits. Throws `undefinedValue` or `tooCostly`. */
export function evaluate(node: Node, context: ApproximateContext): Complex {
  charge(context.budget, cost.small);
  switch (node.kind) {
    case "number":
      return numberValue(node, context);
    case "name":
      return nameValue(node.name, context);
    case "negate":
      return negate(evaluate(node.of, context));
    case "percent":
      return scale(evaluate(node.of, context), new Digits("0.01"));
    case "degrees":
      return degreesValue(node.of, context);
    case "factorial":
      return wholeCall(node, context);
    case "add":
      return add(evaluate(node.left, context), evaluate(node.right, context), context);
    case "multiply":
      return multiply(evaluate(node.left, context), evaluate(node.right, context), context);
    case "divide":
      return divide(evaluate(node.left, context), evaluate(node.right, context), context);
    case "power":
      return power(node.left, node.right, context);
    case "call":
      return call(node, context);
  }
}

function checked(value: Complex): Complex {
  if (!value.re.isFinite() || !value.im.isFinite()) throw undefinedValue;
  return value;
}

function toReal(re: Decimal): Complex {
  return checked({ re, im: none });
}

function numberValue(
  node: Extract<Node, { kind: "number" }>,
  context: ApproximateContext,
): Complex {
  if (node.repeating === "") {
    if (node.text.length > 4000) throw tooCostly;
    return toReal(new Digits(node.text).toSignificantDigits(50));
  }
  charge(context.budget, cost.divide);
  const value = readDecimal(node.text, node.repeating);
  return toReal(new Digits(`${value.n}`).div(`${value.d}`));
}

function nameValue(name: string, context: ApproximateContext): Complex {
  if (name === "i") return { re: none, im: unit };
  if (name === "infty") throw undefinedValue;
  if (name === "pi") return toReal(pi());
  if (name === "e") return toReal(euler());
  let share = 0;
  for (let at = 0; at < name.length; at++) share = (share * 31 + name.charCodeAt(at)) % 9973;
  const point = points[context.point] as string;
  return toReal(new Digits(point).plus(new Digits(share).div(19_997)));
}

function pi(): Decimal {
  return new Digits("3.14159265358979323846264338327950288419716939937510582097494459");
}

function euler(): Decimal {
  return new Digits("2.71828182845904523536028747135266249775724709369995957496696763");
}

function degreesValue(of: Node, context: ApproximateContext): Complex {
  const value = evaluate(of, context);
  return context.angles ? scale(value, pi().div(180)) : value;
}

function negate(value: Complex): Complex {
  return { re: value.re.neg(), im: value.im.neg() };
}

function scale(value: Complex, by: Decimal): Complex {
  return checked({ re: value.re.times(by), im: value.im.times(by) });
}

function magnitude(value: Complex): Decimal {
  if (value.im.isZero()) return value.re.abs();
  return value.re.isZero() ? value.im.abs() : value.re.abs().plus(value.im.abs());
}

function add(left: Complex, right: Complex, context: ApproximateContext): Complex {
  context.largest = Digits.max(context.largest, magnitude(left), magnitude(right));
  return checked({ re: left.re.plus(right.re), im: left.im.plus(right.im) });
}

function multiply(left: Complex, right: Complex, context: ApproximateContext): Complex {
  if (left.im.isZero()) return scale(right, left.re);
  if (right.im.isZero()) return scale(left, right.re);
  charge(context.budget, cost.small * 3);
  return checked({
    re: left.re.times(right.re).minus(left.im.times(right.im)),
    im: left.re.times(right.im).plus(left.im.times(right.re)),
  });
}

function divide(left: Complex, right: Complex, context: ApproximateContext): Complex {
  charge(context.budget, cost.divide);
  if (right.im.isZero()) {
    if (right.re.isZero()) throw undefinedValue;
    return checked({ re: left.re.div(right.re), im: left.im.div(right.re) });
  }
  const conjugate = { re: right.re, im: right.im.neg() };
  return divide(multiply(left, conjugate, context), multiply(right, conjugate, context), context);
}

function power(under: Node, exponent: Node, context: ApproximateContext): Complex {
  const base = evaluate(under, context);
  const exact = exactExponent(exponent, context);
  if (exact !== null && exact.d === 1n && exact.n < 1_000_000n) {
    return wholePower(base, Number(exact.s * exact.n), context);
  }
  if (base.im.isZero() && exact !== null) {
    if (exact.n === 1n && exact.d === 2n && exact.s > 0n) return squareRoot(base.re, context);
    const odd = exact.d % 2n === 1n && base.re.isNegative();
    if (odd) {
      const size = general({ re: base.re.abs(), im: none }, evaluate(exponent, context), context);
      return exact.n % 2n === 1n ? negate(size) : size;
    }
  }
  return general(base, evaluate(exponent, context), context);
}

/** An exponent's exact value, where it is a plain fraction. */
function exactExponent(
  node: Node,
  context: ApproximateContext,
): { n: bigint; d: bigint; s: bigint } | null {
  const exact = { budget: context.budget, point: 0, named: false, opaque: false, angles: false };
  const value = evaluateExactly(node, exact);
  return exact.named || exact.opaque || value.im !== null ? null : value.re;
}

function squareRoot(value: Decimal, context: ApproximateContext): Complex {
  charge(context.budget, cost.root);
  const root = value.abs().sqrt();
  return value.isNegative() ? { re: none, im: root } : { re: root, im: none };
}

function wholePower(base: Complex, exponent: number, context: ApproximateContext): Complex {
  if (exponent === 0) return toReal(unit);
  let result: Complex | null = null;
  let square = base;
  for (let left = Math.abs(exponent); left > 0; left = Math.floor(left / 2)) {
    charge(context.budget, cost.small);
    if (left % 2 === 1) result = result === null ? square : multiply(result, square, context);
    if (left > 1) square = multiply(square, square, context);
  }
  const raised = result ?? toReal(unit);
  return exponent < 0 ? divide(toReal(unit), raised, context) : raised;
}

/** base^exponent as exp(exponent · ln base), on the principal branch. */
function general(base: Complex, exponent: Complex, context: ApproximateContext): Complex {
  if (base.re.isZero() && base.im.isZero()) {
    if (exponent.im.isZero() && exponent.re.gt(0)) return toReal(none);
    throw undefinedValue;
  }
  return exponential(multiply(exponent, logarithm(base, context), context), context);
}

function exponential(value: Complex, context: ApproximateContext): Complex {
  if (value.re.abs().gt(1_000_000) || value.im.abs().gt(1_000_000)) throw tooCostly;
  charge(context.budget, cost.slow);
  const size = value.re.exp();
  if (value.im.isZero()) return toReal(size);
  charge(context.budget, 2 * cost.slow);
  return checked({ re: size.times(value.im.cos()), im: size.times(value.im.sin()) });
}

function logarithm(value: Complex, context: ApproximateContext): Complex {
  if (value.re.isZero() && value.im.isZero()) throw undefinedValue;
  charge(context.budget, cost.slow);
  if (value.im.isZero()) {
    return checked({ re: value.re.abs().ln(), im: value.re.isNegative() ? pi() : none });
  }
  charge(context.budget, 3 * cost.slow);
  const square = value.re.times(value.re).plus(value.im.times(value.im));
  return checked({ re: square.ln().times(half), im: Digits.atan2(value.im, value.re) });
}

type CallNode = Extract<Node, { kind: "call" }>;
const trigonometric = new Set(["sin", "cos", "tan", "cot", "sec", "csc"]);
const wholeCalls = new Set(["binom", "gcd", "lcm", "floor", "ceil", "max", "min"]);

function call(node: CallNode, context: ApproximateContext): Complex {
  if (wholeCalls.has(node.name)) return roundedCall(node, context);
  const angles = context.angles;
  context.angles = angles || trigonometric.has(node.name);
  const args = node.args.map((arg) => evaluate(arg, context));
  context.angles = angles;
  const [value, base] = args as [Complex, Complex | undefined];
  if (node.name === "ln") return logarithm(value, context);
  if (node.name === "log" || node.name === "lg") {
    const under = base === undefined ? toReal(new Digits(10)) : base;
    return divide(logarithm(value, context), logarithm(under, context), context);
  }
  if (node.name === "exp") return exponential(value, context);
  if (node.name === "abs") return absolute(value, context);
  if (!value.im.isZero()) throw undefinedValue;
  return realCall(node.name, value.re, context);
}

function absolute(value: Complex, context: ApproximateContext): Complex {
  if (value.im.isZero()) return toReal(value.re.abs());
  charge(context.budget, cost.root);
  return toReal(value.re.times(value.re).plus(value.im.times(value.im)).sqrt());
}

function realCall(name: string, value: Decimal, context: ApproximateContext): Complex {
  if (value.abs().gt(1_000_000)) throw tooCostly;
  charge(
    context.budget,
    (name.startsWith("arc") ? 4 : name === "sin" || name === "cos" ? 1 : 2) * cost.slow,
  );
  // What comes out as nothing but rounding is judged against one, a sine's own size.
  context.largest = Digits.max(context.largest, unit);
  if (name === "sin") return toReal(value.sin());
  if (name === "cos") return toReal(value.cos());
  if (name === "tan") return quotient(value.sin(), value.cos());
  if (name === "cot") return quotient(value.cos(), value.sin());
  if (name === "sec") return quotient(unit, value.cos());
  if (name === "csc") return quotient(unit, value.sin());
  if (name === "arcsin") return toReal(value.asin());
  if (name === "arccos") return toReal(value.acos());
  if (name === "arctan") return toReal(value.atan());
  if (name === "sinh") return toReal(value.sinh());
  if (name === "cosh") return toReal(value.cosh());
  if (name === "tanh") return toReal(value.tanh());
  if (name === "sign") return toReal(new Digits(value.isZero() ? 0 : value.isNegative() ? -1 : 1));
  throw undefinedValue;
}

/** A quotient of two sines; a divisor that is nothing but rounding is zero. */
function quotient(above: Decimal, below: Decimal): Complex {
  if (below.abs().lte(agreement)) throw undefinedValue;
  return toReal(above.div(below));
}

/** A function of whole numbers, exactly; a floor or a maximum of anything real, to fifty digits. */
function roundedCall(node: CallNode, context: ApproximateContext): Complex {
  if (node.name === "binom" || node.name === "gcd" || node.name === "lcm")
    return wholeCall(node, context);
  const values = node.args.map((arg) => evaluate(arg, context));
  if (values.some((value) => !value.im.isZero())) throw undefinedValue;
  const [first] = values as [Complex, ...Complex[]];
  if (node.name === "floor") return toReal(first.re.floor());
  if (node.name === "ceil") return toReal(first.re.ceil());
  const numbers = values.map((value) => value.re);
  return toReal(node.name === "max" ? Digits.max(...numbers) : Digits.min(...numbers));
}

function wholeCall(node: Node, context: ApproximateContext): Complex {
  const exact = { budget: context.budget, point: 0, named: false, opaque: false, angles: false };
  const value = evaluateExactly(node, exact);
  if (exact.named || exact.opaque) throw undefinedValue;
  charge(context.budget, cost.divide);
  return toReal(new Digits(`${value.re.s * value.re.n}`).div(`${value.re.d}`));
}
