import { mulberry32 } from "../../bridge/hooks/random.js";

/** The numbers below `count` in a seeded order (Fisher and Yates). */
function shuffled(count: number, random: () => number): Uint32Array {
  const order = Uint32Array.from({ length: count }, (_, index) => index);
  for (let last = count - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [order[last], order[other]] = [order[other] as number, order[last] as number];
  }
  return order;
}

export type Side = "train" | "val" | null;

/**
 * Where each row goes: `groups` holds, for each row in order, the number of its prompt, counted from 0 as prompts
 * appear. Rows of one prompt go together, so that a split never leaks. `sample` rows at most are taken (null: all);
 * `split` of what is taken trains (null: all), the rest validates. A row that isn't taken is null.
 */
export function chooseRows(
  groups: readonly number[],
  options: { sample: number | null; split: number | null; seed: number },
): Side[] {
  const sizes: number[] = [];
  for (const group of groups) sizes[group] = (sizes[group] ?? 0) + 1;
  const order = shuffled(sizes.length, mulberry32(options.seed));
  const taken = Math.min(options.sample ?? groups.length, groups.length);
  const training = options.split === null ? taken : Math.round(taken * options.split);
  const sides = new Map<number, { side: Side; left: number }>();
  let placed = 0;
  for (const group of order) {
    const size = Math.min(sizes[group] as number, taken - placed);
    if (size > 0) sides.set(group, { side: placed < training ? "train" : "val", left: size });
    placed += size;
  }
  return groups.map((group) => {
    const place = sides.get(group);
    if (!place || place.left === 0) return null;
    place.left -= 1;
    return place.side;
  });
}
