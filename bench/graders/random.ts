/** A seeded source of random numbers (mulberry32), so that a bench generates the same set every time. */
export interface Random {
  /** A whole number from low to high, both included. */
  int(low: number, high: number): number;
  pick<Item>(items: readonly Item[]): Item;
}

export function newRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const int = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1));
  return { int, pick: (items) => items[int(0, items.length - 1)] as (typeof items)[number] };
}
