/** A problem and its answer, both as text. */
export interface Problem {
  prompt: string;
  answer: string;
}

/** A kind of problem that can be written from numbers, and solved from its text. */
interface Family {
  name: string;
  write(draw: Draw): string;
  /** The answer to a text of this kind; null for any other text. */
  solve(text: string): string | null;
}

/** A whole number from `low` to `high`. */
type Draw = (low: number, high: number) => number;

const fraction = (top: number, bottom: number): string => {
  const divisor = greatestDivisor(top, bottom);
  const [t, b] = [top / divisor, bottom / divisor];
  return b === 1 ? String(t) : `\\frac{${t}}{${b}}`;
};

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? Math.abs(a) : greatestDivisor(b, a % b);
}

/** Reads the numbers that a pattern finds; null where it doesn't fit. */
function numbersIn(text: string, pattern: RegExp): number[] | null {
  return pattern.exec(text)?.slice(1).map(Number) ?? null;
}

const families: readonly Family[] = [
  {
    name: "sum",
    write: (draw) => `What is ${draw(1, 9)} + ${draw(1, 9)}?`,
    solve(text) {
      const [a, b] = numbersIn(text, /^What is (\d{1,6}) \+ (\d{1,6})\?$/) ?? [];
      return a === undefined || b === undefined ? null : String(a + b);
    },
  },
  {
    name: "equation",
    write: (draw) => {
      const [x, a, b] = [draw(1, 9), draw(2, 5), draw(1, 9)];
      return `Solve for x: ${a}x + ${b} = ${a * x + b}`;
    },
    solve(text) {
      const [a, b, c] =
        numbersIn(text, /^Solve for x: (\d{1,4})x \+ (\d{1,6}) = (\d{1,6})\.?$/) ?? [];
      if (!a || b === undefined || c === undefined) return null;
      return c < b ? `-${fraction(b - c, a)}` : fraction(c - b, a);
    },
  },
  {
    name: "fractions",
    write: (draw) => `What is 1/${draw(2, 6)} + 1/${draw(2, 6)}?`,
    solve(text) {
      const [a, b, c, d] =
        numbersIn(text, /^What is (\d{1,3})\/(\d{1,3}) \+ (\d{1,3})\/(\d{1,3})\?$/) ?? [];
      if (a === undefined || !b || c === undefined || !d) return null;
      return fraction(a * d + c * b, b * d);
    },
  },
  {
    name: "percent",
    write: (draw) => `What is ${draw(1, 9) * 10}% of ${draw(1, 20) * 10}?`,
    solve(text) {
      const [share, whole] = numbersIn(text, /^What is (\d{1,3})% of (\d{1,6})\?$/) ?? [];
      return share === undefined || whole === undefined ? null : fraction(share * whole, 100);
    },
  },
];

/** The answer to a problem of a known kind, worked out; null for any other text. */
export function solve(text: string): string | null {
  const plain = text.trim().replaceAll(/\s+/g, " ");
  for (const family of families) {
    const answer = family.solve(plain);
    if (answer !== null) return answer;
  }
  return null;
}

/** `count` different problems, as many of each kind, the same in every call. */
function writeProblems(count: number): Problem[] {
  // A fixed linear congruential generator: the problems are part of the data, not of a run.
  let state = 20251219;
  const draw: Draw = (low, high) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return low + Math.floor((state / 2 ** 32) * (high - low + 1));
  };
  const problems = new Map<string, Problem>();
  for (let turn = 0; problems.size < count; turn++) {
    const text = families[turn % families.length]?.write(draw) ?? "";
    const answer = solve(text);
    if (answer === null) throw new Error(`no family solves ${text}`);
    problems.set(text, { prompt: toPrompt(text), answer });
  }
  return [...problems.values()];
}

const instruction = "Put the final answer in \\boxed{}.";

/** The prompt of a problem: its text, and how to answer. */
export const toPrompt = (text: string): string => `${text}\n${instruction}`;

/** The text of a prompt, without how to answer. */
export const toText = (prompt: string): string => prompt.replace(`\n${instruction}`, "");

const heldOutCount = 16;
const all = writeProblems(80);

/** 64 problems to train on. */
export const trainProblems: readonly Problem[] = all.slice(heldOutCount);

/** 16 others that only validation may use. */
export const heldOutProblems: readonly Problem[] = all.slice(0, heldOutCount);

const heldOut = new Set(heldOutProblems.map(({ prompt }) => prompt));

/** True for a problem that training must not see. */
export const isHeldOut = (text: string): boolean => heldOut.has(toPrompt(text));
