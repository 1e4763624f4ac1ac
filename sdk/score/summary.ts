import type { RewardResult } from "../../bridge/hooks/types.js";

/** What a scan of cases came to. */
export interface ScoreSummary {
  rows: number;
  scored: number;
  /** Of the scored ones; null where there are none. */
  mean: number | null;
  /** By reason. */
  abstained: Record<string, number>;
  /** By code, and the first one's text for each. */
  failed: Record<string, { count: number; first: string }>;
  /** Mean of each metric over the results that have it: a composition's parts, for one. */
  metrics: Record<string, number>;
  histogram: Bin[];
  seconds: number;
  perSecond: number;
}

/** Scores from `from` (included) to `to` (excluded, but for the last bin's). */
export interface Bin {
  from: number;
  to: number;
  count: number;
}

const maxReasons = 50;
const manyValues = 10;

/** Takes results one at a time and keeps only what the summary needs of them. */
export class ScoreTally {
  readonly #values = new Map<number, number>();
  readonly #abstained = new Map<string, number>();
  readonly #failed = new Map<string, { count: number; first: string }>();
  readonly #metrics = new Map<string, { sum: number; count: number }>();
  #rows = 0;

  add(result: RewardResult): void {
    this.#rows += 1;
    if (result.kind === "abstain") {
      const known = this.#abstained.has(result.reason) || this.#abstained.size < maxReasons;
      count(this.#abstained, known ? result.reason : "(other reasons)");
    } else if (result.kind === "failed") {
      const { code, reason: first } = result;
      const known = this.#failed.get(code) ?? { count: 0, first };
      this.#failed.set(code, { ...known, count: known.count + 1 });
    } else {
      count(this.#values, result.value);
      for (const [name, value] of Object.entries(result.metrics)) {
        const { sum, count } = this.#metrics.get(name) ?? { sum: 0, count: 0 };
        this.#metrics.set(name, { sum: sum + value, count: count + 1 });
      }
    }
  }

  get failures(): number {
    return [...this.#failed.values()].reduce((sum, { count }) => sum + count, 0);
  }

  summary(seconds: number): ScoreSummary {
    const values = [...this.#values].sort(([a], [b]) => a - b);
    const scored = values.reduce((sum, [, times]) => sum + times, 0);
    const total = values.reduce((sum, [value, times]) => sum + value * times, 0);
    return {
      rows: this.#rows,
      scored,
      mean: scored === 0 ? null : total / scored,
      abstained: Object.fromEntries(this.#abstained),
      failed: Object.fromEntries(this.#failed),
      metrics: Object.fromEntries(
        [...this.#metrics].map(([name, { sum, count }]) => [name, sum / count]),
      ),
      histogram: toHistogram(values),
      seconds,
      perSecond: this.#rows / Math.max(seconds, 1e-9),
    };
  }
}

function count<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** A bin a value where they are few, else ten bins of one width between the least and the greatest. */
export function toHistogram(values: readonly [value: number, count: number][]): Bin[] {
  if (values.length <= manyValues)
    return values.map(([value, times]) => ({ from: value, to: value, count: times }));
  const [least] = values[0] as [number, number];
  const [greatest] = values.at(-1) as [number, number];
  const width = (greatest - least) / manyValues;
  const bins = Array.from({ length: manyValues }, (_, bin) => ({
    from: least + bin * width,
    to: bin === manyValues - 1 ? greatest : least + (bin + 1) * width,
    count: 0,
  }));
  for (const [value, times] of values) {
    const bin = bins[Math.min(manyValues - 1, Math.floor((value - least) / width))] as Bin;
    bin.count += times;
  }
  return bins;
}
