import { Fraction } from "fraction.js";
import { type Budget, spend } from "./budget.js";

/** Thrown where a value does not exist, such as one over zero. */
export const undefinedValue: unique symbol = Symbol("undefined value");
/** Thrown where a value would cost more than the budget has left. */
export const tooCostly: unique symbol = Symbol("too costly");

/** An exact complex number; `im` is null for a real one. */
export interface Exact {
  re: Fraction;
  im: Fraction | null;
}

const maxDigits = 4000;
const maxBits = 100_000;

export function real(re: Fraction): Exact {
  return { re, im: null };
}

export function charge(budget: Budget, steps: number): void {
  if (!spend(budget, steps)) throw tooCostly;
}

/** How many bits an integer has, roughly: small ones count as 64. */
export function bitsOf(value: bigint): number {
  const size = value < 0n ? -value : value;
  return size < 0x1_0000_0000_0000_0000n ? 64 : size.toString(16).length * 4;
}

/** Charges for one operation on two fractions: the common divisor makes it quadratic in their size. */
function chargeFor(budget: Budget, left: Fraction, right: Fraction): void {
  const above = bitsOf(left.n) + bitsOf(right.n);
  const whole = left.d === 1n && right.d === 1n;
  const bits = above + bitsOf(left.d) + bitsOf(right.d);
  charge(budget, whole ? 1 + above / 1000 : bits <= 256 ? 1 : (bits / 200) ** 2);
}

function plus(budget: Budget, left: Fraction, right: Fraction): Fraction {
  chargeFor(budget, left, right);
  return left.add(right);
}

function times(budget: Budget, left: Fraction, right: Fraction): Fraction {
  chargeFor(budget, left, right);
  return left.mul(right);
}

export function add(budget: Budget, left: Exact, right: Exact): Exact {
  const im =
    left.im === null ? right.im : right.im === null ? left.im : plus(budget, left.im, right.im);
  return trim(plus(budget, left.re, right.re), im);
}

export function negate(value: Exact): Exact {
  return { re: value.re.neg(), im: value.im === null ? null : value.im.neg() };
}

export function multiply(budget: Budget, left: Exact, right: Exact): Exact {
  const re = times(budget, left.re, right.re);
  if (left.im === null && right.im === null) return { re, im: null };
  const [a, b] = [left.im ?? zero, right.im ?? zero];
  const im = plus(budget, times(budget, left.re, b), times(budget, a, right.re));
  return trim(plus(budget, re, times(budget, a, b).neg()), im);
}

export function divide(budget: Budget, left: Exact, right: Exact): Exact {
  if (right.im !== null) {
    const conjugate = { re: right.re, im: right.im.neg() };
    const size = multiply(budget, right, conjugate);
    return divide(budget, multiply(budget, left, conjugate), size);
  }
  if (right.re.n === 0n) throw undefinedValue;
  const inverse = right.re.inverse();
  const im = left.im === null ? null : times(budget, left.im, inverse);
  return trim(times(budget, left.re, inverse), im);
}

/** A whole power, refused before it is computed where it would be longer than 100,000 bits. */
export function wholePower(budget: Budget, base: Exact, exponent: bigint): Exact {
  if (base.im !== null) return complexPower(budget, base, exponent);
  const { re } = base;
  if (re.n === 0n && exponent <= 0n) throw undefinedValue;
  const trivial = re.d === 1n && re.n <= 1n;
  const size = exponent < 0n ? -exponent : exponent;
  if (trivial) return real(re.s < 0n && size % 2n === 1n ? re : re.mul(re));
  if (size > BigInt(maxBits)) throw tooCostly;
  const bits = (sizeOf(re.n) + sizeOf(re.d)) * Number(size);
  if (bits > maxBits) throw tooCostly;
  charge(budget, re.d === 1n ? 1 + bits / 100 : bits <= 256 ? 1 : (bits / 200) ** 2);
  const power = re.pow(new Fraction(size, 1n));
  if (power === null) throw tooCostly;
  return real(exponent < 0n ? power.inverse() : power);
}

function sizeOf(value: bigint): number {
  return value === 1n ? 0 : value < 0xffff_ffffn ? Math.log2(Number(value)) : bitsOf(value);
}

function complexPower(budget: Budget, base: Exact, exponent: bigint): Exact {
  const size = exponent < 0n ? -exponent : exponent;
  if (size > 1000n) throw tooCostly;
  let result: Exact = real(one);
  for (let left = Number(size), square = base; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) result = multiply(budget, result, square);
    if (left > 1) square = multiply(budget, square, square);
  }
  return exponent < 0n ? divide(budget, real(one), result) : result;
}

export const zero: Fraction = new Fraction(0);
export const one: Fraction = new Fraction(1);

function trim(re: Fraction, im: Fraction | null): Exact {
  return { re, im: im === null || im.n === 0n ? null : im };
}

export function sameExact(left: Exact, right: Exact): boolean {
  if (!left.re.equals(right.re)) return false;
  return left.im === null || right.im === null ? left.im === right.im : left.im.equals(right.im);
}

/** The whole number a value is, or null. */
export function wholeOf(value: Exact): bigint | null {
  if (value.im !== null || value.re.d !== 1n) return null;
  return value.re.s * value.re.n;
}

/** A decimal such as 12.50, 1.6e-3 or 0.1 with 6 repeating, as a fraction. */
export function readDecimal(text: string, repeating: string): Fraction {
  if (text.length + repeating.length > maxDigits) throw tooCostly;
  const [mantissa = "", exponent = "0"] = text.toLowerCase().split("e");
  const [whole = "", decimals = ""] = mantissa.split(".");
  const shift = Number(exponent) - decimals.length;
  if (Math.abs(shift) > maxDigits) throw tooCostly;
  let value = BigInt(whole + decimals);
  let scale = 10n ** BigInt(Math.max(0, -shift));
  if (shift > 0) value *= 10n ** BigInt(shift);
  if (repeating !== "") {
    const nines = 10n ** BigInt(repeating.length) - 1n;
    value = value * nines + BigInt(repeating);
    scale *= nines;
  }
  return new Fraction(value, scale);
}

/** The exact root of a fraction, or null where it is not rational; sizes past 2,000 bits are not tried. */
export function exactRoot(value: Fraction, degree: number): Fraction | null {
  const above = wholeRoot(value.n, degree);
  const below = above === null ? null : wholeRoot(value.d, degree);
  return above === null || below === null ? null : new Fraction(above, below);
}

function wholeRoot(value: bigint, degree: number): bigint | null {
  if (value <= 1n) return value;
  if (bitsOf(value) > 2000) return null;
  const wide = BigInt(degree);
  // Newton's method from above; each step at least halves the distance in bits.
  let guess = 1n << BigInt(Math.ceil(value.toString(2).length / degree));
  for (;;) {
    const next = ((wide - 1n) * guess + value / guess ** (wide - 1n)) / wide;
    if (next >= guess) break;
    guess = next;
  }
  return guess ** wide === value ? guess : null;
}
