/** One addition problem. */
export interface Sum {
  a: number;
  b: number;
}

export const sumPrompt = ({ a, b }: Sum): string => `What is ${a} + ${b}?`;

const heldOutCount = 24;

/** The 81 sums of two digits from 1 to 9, in an order that never changes. */
function shuffledDigitSums(): Sum[] {
  const digits = [1, 2, 3, 4, 5, 6, 7, 8, 9];
  const sums = digits.flatMap((a) => digits.map((b) => ({ a, b })));
  // A fixed linear congruential generator: the split is part of the data, not of a run.
  let state = 20251219;
  const draw = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  return sums
    .map((sum) => ({ sum, order: draw() }))
    .sort((x, y) => x.order - y.order)
    .map(({ sum }) => sum);
}

const shuffled = shuffledDigitSums();

/** 57 sums to train on. */
export const trainSums: readonly Sum[] = shuffled.slice(heldOutCount);

/** 24 other sums that only validation may use. */
export const heldOutSums: readonly Sum[] = shuffled.slice(0, heldOutCount);

/** True for a sum that training must not see, in this order of its numbers. */
export function isHeldOut(sum: Sum): boolean {
  return heldOutSums.some(({ a, b }) => a === sum.a && b === sum.b);
}
