import { seededRandom } from "../../bridge/hooks/random.js";

/** The middle value; the mean of the two middle ones. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length / 2;
  return ((sorted[Math.ceil(half) - 1] ?? NaN) + (sorted[Math.floor(half)] ?? NaN)) / 2;
}

/** The 95 % interval of median(above) / median(below), by 2000 bootstrap draws from a fixed seed. */
export function ratioInterval(
  above: readonly number[],
  below: readonly number[],
): [number, number] {
  const random = seededRandom("bootstrap");
  const draw = (values: readonly number[]): number[] =>
    values.map(() => values[Math.floor(random() * values.length)] ?? NaN);
  const ratios = Array.from({ length: 2000 }, () => median(draw(above)) / median(draw(below)));
  ratios.sort((a, b) => a - b);
  return [ratios[50] ?? NaN, ratios[1949] ?? NaN];
}
