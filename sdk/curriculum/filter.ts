/** Where a task lies for a filter; `unscored` ones have no success rate and are never kept. */
export type Verdict = "kept" | "too-hard" | "too-easy" | "unscored";

// Success rates are fractions such as 6/8: 0.8 - 0.5 is a hair above 0.3, and 0.29 * 100 a hair below 29.
const rounding = 1e-9;

/**
 * The paper's filter: a task is kept where |p̂ - α| <= k, the edge included. GenEnv, arXiv 2512.19682.
 * Verdicts are in the order of the success rates.
 */
export function bandFilter(
  successRates: readonly (number | null)[],
  options: { alpha: number; k: number },
): Verdict[] {
  return successRates.map((rate) => {
    if (rate === null) return "unscored";
    if (Math.abs(rate - options.alpha) <= options.k + rounding) return "kept";
    return rate > options.alpha ? "too-easy" : "too-hard";
  });
}

/**
 * The Python GenEnv's filter: of n scored tasks, the floor(k n) easiest and as many of the hardest are
 * dropped. Ties are broken by position. Unlike the original's slicing, it drops none where k n < 1 and
 * counts no task twice; from k = 0.5 on it keeps one task of an odd number at most.
 */
export function quantileFilter(
  successRates: readonly (number | null)[],
  options: { k: number },
): Verdict[] {
  const order = successRates
    .flatMap((rate, index) => (rate === null ? [] : [{ rate, index }]))
    .sort((a, b) => a.rate - b.rate || a.index - b.index);
  const dropped = Math.floor(options.k * order.length + rounding);
  const verdicts = successRates.map((): Verdict => "unscored");
  order.forEach(({ index, rate }, rank) => {
    const hard = rank < dropped;
    const easy = rank >= order.length - dropped;
    verdicts[index] =
      hard && easy ? extremeOf(rate) : hard ? "too-hard" : easy ? "too-easy" : "kept";
  });
  return verdicts;
}

const extremeOf = (rate: number): Verdict => (rate < 0.5 ? "too-hard" : "too-easy");
