const count = 8;

/** A colour of the page's own, that suits light and dark. */
export const colorAt = (place: number): string => `var(--c${(place % count) + 1})`;

const meanings: Record<string, string> = {
  kept: "var(--c1)",
  "too-hard": "var(--c2)",
  "too-easy": "var(--c3)",
  "batch-full": "var(--c8)",
};

/** A colour for each name; those with a meaning of their own keep it in every chart. */
export function colorsFor(names: readonly string[]): Map<string, string> {
  const taken = new Set(names.map((name) => meanings[name]));
  const free = [4, 5, 6, 3, 7, 0, 1, 2].map(colorAt).filter((color) => !taken.has(color));
  let next = 0;
  return new Map(
    names.map((name) => [name, meanings[name] ?? free[next++ % free.length] ?? colorAt(0)]),
  );
}
