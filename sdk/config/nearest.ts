/** Edits (insert, delete, replace, swap neighbours) that turn `a` into `b`. */
export function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let least = Math.min(at(previous, j) + 1, at(row, j - 1) + 1, at(previous, j - 1) + same);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) least = Math.min(least, at(before, j - 2) + 1);
      row.push(least);
    }
    before = previous;
    previous = row;
  }
  return at(previous, b.length);
}

const at = (row: number[], index: number): number => row[index] ?? Number.POSITIVE_INFINITY;

/**
 * The candidate that reads most like `name`, null when none comes close. A candidate that ends in
 * `.name` (a key written without its section) wins over spelling, and one that begins with it is close.
 */
export function nearestName(name: string, candidates: readonly string[]): string | null {
  let best: string | null = null;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    if (candidate.endsWith(`.${name}`)) return candidate;
    const distance = editDistance(name, candidate);
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  if (bestDistance <= Math.max(2, name.length * 0.4)) return best;
  return [...candidates].find((candidate) => candidate.startsWith(name)) ?? null;
}
