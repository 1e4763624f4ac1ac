import { seededRandom } from "../../bridge/hooks/random.js";

/** A mean over problems with its 95 % interval; both ends are null where there are fewer than two problems. */
export interface Estimate {
  value: number;
  low: number | null;
  high: number | null;
  /** How many problems it is over. */
  problems: number;
}

/**
 * The chance that at least one of k samples is right, estimated without bias from c right ones of n:
 * 1 - C(n-c, k) / C(n, k) (Chen et al., arXiv 2107.03374, eq. 1). Null where there are fewer than k samples.
 */
export function passAtK(n: number, c: number, k: number): number | null {
  if (n < k || k < 1) return null;
  if (n - c < k) return 1;
  let allWrong = 1;
  // The quotient of the binomials as a product, which no factorial overflows.
  for (let i = n - c + 1; i <= n; i++) allWrong *= 1 - k / i;
  return 1 - allWrong;
}

/**
 * The mean, with Student's two-sided 95 % interval: problems are the independent draws, and samples of one problem
 * are not (Miller, arXiv 2411.00640). Equal values give an interval of no width. Null for no values.
 */
export function estimate(values: readonly number[]): Estimate | null {
  const m = values.length;
  if (m === 0) return null;
  const value = mean(values);
  if (m === 1) return { value, low: null, high: null, problems: 1 };
  const variance = values.reduce((sum, each) => sum + (each - value) ** 2, 0) / (m - 1);
  const half = studentT975(m - 1) * Math.sqrt(variance / m);
  return { value, low: value - half, high: value + half, problems: m };
}

// The 0.975 quantile for 1 to 10 degrees of freedom, where the series below is too coarse.
const smallT = [12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.306, 2.2622, 2.2281];

/** The 0.975 quantile of Student's t, to four digits (Abramowitz and Stegun, 26.7.5). */
export function studentT975(degrees: number): number {
  const known = smallT[degrees - 1];
  if (known !== undefined) return known;
  const z = 1.959963985;
  const [z3, z5, z7] = [z ** 3, z ** 5, z ** 7];
  const terms = [
    z,
    (z3 + z) / 4,
    (5 * z5 + 16 * z3 + 3 * z) / 96,
    (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / 384,
  ];
  return terms.reduce((sum, term, power) => sum + term / degrees ** power, 0);
}

/** Whether two models differ on the same problems. */
export interface PairedTest {
  /** The second's mean minus the first's, with its interval over problems. */
  difference: Estimate;
  /** Two-sided: how often differences with random signs have a mean as far from 0. */
  pValue: number;
  method: "exact" | "sampled";
}

// Up to 2^14 sign patterns are all counted.
const exactProblems = 14;
const draws = 10_000;
// Sums of equal terms in another order differ in their last digits.
const tolerance = 1e-12;

/**
 * The sign-flip permutation test of paired differences: under the hypothesis that both are alike, each problem's
 * difference is as likely with the other sign. Exact up to 14 problems, else 10,000 draws of the seeded generator,
 * with the observed pattern counted in. Null for no problems.
 */
export function pairedTest(differences: readonly number[], seed = 0): PairedTest | null {
  const difference = estimate(differences);
  if (!difference) return null;
  const observed = Math.abs(sum(differences)) - tolerance;
  const asFar = (signs: (index: number) => boolean): boolean =>
    Math.abs(sum(differences.map((each, index) => (signs(index) ? each : -each)))) >= observed;
  if (differences.length <= exactProblems) {
    const patterns = 2 ** differences.length;
    let count = 0;
    for (let pattern = 0; pattern < patterns; pattern++) {
      if (asFar((index) => ((pattern >> index) & 1) === 1)) count++;
    }
    return { difference, pValue: count / patterns, method: "exact" };
  }
  const random = seededRandom(`paired-test ${seed}`);
  let count = 1;
  for (let draw = 0; draw < draws; draw++) if (asFar(() => random() < 0.5)) count++;
  return { difference, pValue: count / (draws + 1), method: "sampled" };
}

export const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

export const mean = (values: readonly number[]): number => sum(values) / values.length;
