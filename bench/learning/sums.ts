/** The small world: sums of 2 to 8 terms from 1 to 4. The more terms, the harder. */

export const maxTerms = 8;
export const maxTerm = 4;
export type Band = "easy" | "edge" | "hard";
export type Split = "lessons" | "development" | "held-out" | "rest";

/** What the environment model is asked: always the same, so that only its training moves what it writes. */
export const question = "problem";

export const toText = (terms: readonly number[]): string => terms.join("+");

/** The sum after each term but the first, as the agent is shown to write it: `3+4+1` gives `7 8`. */
export function workingOf(terms: readonly number[]): string {
  let total = 0;
  const totals = terms.map((term) => {
    total += term;
    return total;
  });
  return totals.slice(1).join(" ");
}

export function bandOf(count: number): Band {
  if (count <= 4) return "easy";
  return count <= 6 ? "edge" : "hard";
}

/**
 * Which part of all problems one belongs to, by its text, so that it is the same everywhere: of 24, about 16 are for
 * lessons and seed data, 1 is held out, 1 for development; the rest is only what the environment model may write too.
 */
export function splitOf(text: string): Split {
  const place = hash(text) % 6;
  if (place > 1) return "lessons";
  if (hash(`is ${text} kept?`) % 4 !== 0) return "rest";
  return place === 0 ? "held-out" : "development";
}

export const isForValidation = (text: string): boolean =>
  ["held-out", "development"].includes(splitOf(text));

/** FNV-1a, with a last mixing: problems differ in single characters. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const character of text) {
    value = Math.imul(value ^ character.charCodeAt(0), 0x01000193);
  }
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  return (value ^ (value >>> 13)) >>> 0;
}

export function drawTerms(count: number, random: () => number): number[] {
  return Array.from({ length: count }, () => 1 + Math.floor(random() * maxTerm));
}

/** A number of terms, from 2 on, drawn by weight. */
export function drawCount(weights: readonly number[], random: () => number): number {
  let left = random() * weights.reduce((sum, weight) => sum + weight, 0);
  const index = weights.findIndex((weight) => {
    left -= weight;
    return left < 0;
  });
  return 2 + Math.max(index, 0);
}

/** `count` different problems of one split, each with as many terms as `draw` says. */
export function problemsOf(
  split: Split,
  count: number,
  random: () => number,
  draw: () => number,
): number[][] {
  const found = new Map<string, number[]>();
  for (let tries = 0; found.size < count; tries++) {
    if (tries > 1000 * count) throw new Error(`no ${count} different ${split} problems`);
    const terms = drawTerms(draw(), random);
    if (splitOf(toText(terms)) === split) found.set(toText(terms), terms);
  }
  return [...found.values()];
}
