import type { TimedLine } from "./timeline.js";

/** When plain veRL's first responses were there: its first step's end, less what followed the generation. */
export function firstAnswersOfPlain(lines: readonly TimedLine[]): number {
  const first = lines.find(({ text }) => /\bstep:1 - /.test(text));
  if (!first) throw new Error("plain veRL printed no first step");
  return first.seconds - number(first.text, "timing_s/step") + number(first.text, "timing_s/gen");
}

/** Seconds between the ends of plain veRL's steps. */
export const stepsOfPlain = (lines: readonly TimedLine[]): number[] =>
  gaps(lines.filter(({ text }) => /\bstep:\d+ - /.test(text)));

/** Seconds between the ends of the agent's steps in `genenv run --json`. */
export const stepsOfGenenv = (lines: readonly TimedLine[]): number[] =>
  gaps(lines.filter(({ text }) => isEvent(text, { type: "phase", phase: "epoch-end" })));

/** Seconds of TRL's steps, as trl_grpo.py prints them. */
export const stepsOfTrl = (lines: readonly TimedLine[]): number[] =>
  lines.flatMap(({ text }) => {
    const found = /^step \d+: ([0-9.]+) s$/.exec(text)?.[1];
    return found === undefined ? [] : [Number(found)];
  });

export function isEvent(line: string, wanted: Record<string, unknown>): boolean {
  if (!line.startsWith("{")) return false;
  const event = JSON.parse(line) as Record<string, unknown>;
  return Object.entries(wanted).every(([key, value]) => event[key] === value);
}

const gaps = (lines: readonly TimedLine[]): number[] =>
  lines.slice(1).map(({ seconds }, index) => seconds - (lines[index]?.seconds ?? 0));

function number(text: string, name: string): number {
  const found = new RegExp(`${name}:([0-9.e+-]+)`).exec(text)?.[1];
  if (found === undefined) throw new Error(`plain veRL's step tells no ${name}`);
  return Number(found);
}
