import { Fraction } from "fraction.js";
import type { Budget } from "./budget.js";
import type { Node } from "./syntax.js";
import {
  add,
  charge,
  divide,
  type Exact,
  exactRoot,
  multiply,
  negate,
  one,
  readDecimal,
  real,
  tooCostly,
  undefinedValue,
  wholeOf,
  wholePower,
  zero,
} from "./values.js";

/** How an expression is evaluated exactly, and what was met on the way. */
export interface ExactContext {
  budget: Budget;
  /** Which values the names take: the same name has the same value in both answers. */
  point: number;
  /** Set where a name (a variable, or pi and e, which satisfy no equation) was met. */
  named: boolean;
  /** Set where something irrational or a function stood in as an unknown of its own. */
  opaque: boolean;
  /** Set inside a trigonometric function, where a degree is an angle. */
  angles: boolean;
}

const hundredth = new Fraction(1, 100);
const maxFactorial = 1000n;

/**
 * The exact value of an expression, in complex fractions, at one point for its names. What has no exact value (a root
 * that does not come out, a function) stands in as a number made from its exact arguments: two expressions that agree
 * at a point then agree whatever those are worth. Throws `undefinedValue` or `tooCostly`.
 */
export function evaluateExactly(node: Node, context: ExactContext): Exact {
  const { budget } = context;
  charge(budget, 1);
  switch (node.kind) {
    case "number":
      return real(readDecimal(node.text, node.repeating));
    case "name":
      return nameValue(node.name, context);
    case "negate":
      return negate(evaluateExactly(node.of, context));
    case "percent":
      return multiply(budget, evaluateExactly(node.of, context), real(hundredth));
    case "degrees":
      return degreesValue(node.of, context);
    case "factorial":
      return factorial(evaluateExactly(node.of, context), context);
    case "power":
      return power(evaluateExactly(node.left, context), node.right, context);
    case "call":
      return callValue(node, context);
    default: {
      const left = evaluateExactly(node.left, context);
      const right = evaluateExactly(node.right, context);
      if (node.kind === "add") return add(budget, left, right);
      return node.kind === "multiply" ? multiply(budget, left, right) : divide(budget, left, right);
    }
  }
}

function nameValue(name: string, context: ExactContext): Exact {
  if (name === "i") return { re: zero, im: one };
  if (name === "infty") throw undefinedValue;
  context.named = true;
  return real(standIn(`name ${name}`, context.point));
}

function degreesValue(of: Node, context: ExactContext): Exact {
  const value = evaluateExactly(of, context);
  if (!context.angles) return value;
  const straight = divide(context.budget, nameValue("pi", context), real(new Fraction(180)));
  return multiply(context.budget, value, straight);
}

/** A number of about forty bits that depends on the key and the point alone. */
function standIn(key: string, point: number): Fraction {
  let high = 0x811c9dc5 ^ point;
  let low = 0x1234567 + point;
  for (let at = 0; at < key.length; at++) {
    high = Math.imul(high ^ key.charCodeAt(at), 0x01000193);
    low = Math.imul(low ^ key.charCodeAt(at), 0x5bd1e995);
    low ^= low >>> 15;
  }
  return new Fraction(BigInt(high >>> 12) * 0x100000n + BigInt(low >>> 12) + 3n, 1n);
}

function unknownOf(name: string, args: Exact[], context: ExactContext): Exact {
  context.opaque = true;
  const key = args.map(
    (value) => `${value.re.s * value.re.n}/${value.re.d}+${value.im?.toFraction() ?? 0}i`,
  );
  charge(context.budget, key.join().length / 10);
  return real(standIn(`${name} ${key.join(" ")}`, context.point));
}

function power(base: Exact, exponentNode: Node, context: ExactContext): Exact {
  const named = context.named;
  context.named = false;
  const exponent = evaluateExactly(exponentNode, context);
  const variable = context.named;
  context.named = named || variable;
  // A name's stand-in is no exponent to raise to.
  if (variable) return unknownOf("power", [base, exponent], context);
  const whole = wholeOf(exponent);
  if (whole !== null) return wholePower(context.budget, base, whole);
  const { re } = exponent;
  // The root of a name's square is no name: its sign is open.
  if (exponent.im === null && base.im === null && !named && re.d <= 64n) {
    const root = rationalRoot(base.re, Number(re.d), context);
    if (root !== null) return wholePower(context.budget, root, re.s * re.n);
  }
  return unknownOf("power", [base, exponent], context);
}

/** The root of a fraction where it is rational, or imaginary for a square root; an odd root of a negative is real. */
function rationalRoot(base: Fraction, degree: number, context: ExactContext): Exact | null {
  charge(context.budget, 20);
  const root = exactRoot(base.abs(), degree);
  if (root === null) return null;
  if (base.s >= 0n) return real(root);
  if (degree % 2 === 1) return real(root.neg());
  return degree === 2 ? { re: zero, im: root } : null;
}

function factorial(value: Exact, context: ExactContext): Exact {
  const whole = wholeOf(value);
  if (whole === null || whole < 0n) return unknownOf("factorial", [value], context);
  if (whole > maxFactorial) throw tooCostly;
  charge(context.budget, Number(whole) / 2);
  let product = 1n;
  for (let factor = 2n; factor <= whole; factor++) product *= factor;
  return real(new Fraction(product, 1n));
}

const trigonometric = new Set(["sin", "cos", "tan", "cot", "sec", "csc"]);

function callValue(node: Extract<Node, { kind: "call" }>, context: ExactContext): Exact {
  const angles = context.angles;
  context.angles = angles || trigonometric.has(node.name);
  const args = node.args.map((arg) => evaluateExactly(arg, context));
  context.angles = angles;
  const [first] = args as [Exact, ...Exact[]];
  if (node.name === "binom") return binomial(args, context);
  if (args.some((value) => value.im !== null)) return unknownOf(node.name, args, context);
  // Rounding and ordering depend on what an unknown is worth.
  if (context.named || context.opaque) return unknownOf(node.name, args, context);
  if (node.name === "abs") return real(first.re.abs());
  if (node.name === "floor") return real(first.re.floor());
  if (node.name === "ceil") return real(first.re.ceil());
  if (node.name === "max" || node.name === "min") {
    const sign = node.name === "max" ? 1 : -1;
    return args.reduce((best, value) => (value.re.compare(best.re) * sign > 0 ? value : best));
  }
  if (node.name === "gcd" || node.name === "lcm") return divisor(node.name, args, context);
  return unknownOf(node.name, args, context);
}

function divisor(name: "gcd" | "lcm", args: Exact[], context: ExactContext): Exact {
  if (args.some((value) => wholeOf(value) === null)) return unknownOf(name, args, context);
  return args.reduce((left, right) => {
    charge(context.budget, 20);
    return real(name === "gcd" ? left.re.gcd(right.re) : left.re.lcm(right.re));
  });
}

function binomial(args: Exact[], context: ExactContext): Exact {
  const [n, k] = args.map(wholeOf);
  if (n === undefined || k === undefined || n === null || k === null || context.named) {
    return unknownOf("binom", args, context);
  }
  if (n < 0n || k < 0n || k > n) return unknownOf("binom", args, context);
  if (n > 1_000_000n) throw tooCostly;
  const steps = BigInt(Math.min(Number(k), Number(n - k)));
  if (steps > maxFactorial) throw tooCostly;
  charge(context.budget, Number(steps));
  let product = 1n;
  for (let at = 1n; at <= steps; at++) product = (product * (n - steps + at)) / at;
  return real(new Fraction(product, 1n));
}
