import {
  appendFileSync,
  closeSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import { DataError } from "../../bridge/errors.js";
import { rewardResultSchema } from "./result-schema.js";
import type { EvaluatedProblem } from "./types.js";

/** What an evaluation is of: two with the same words here give results that belong together. */
export type EvalIdentity = Readonly<Record<string, string | number>>;

const headSchema = z.object({
  type: z.literal("eval"),
  version: z.literal(1),
  identity: z.record(z.string(), z.union([z.string(), z.number()])),
});

const problemSchema = z.object({
  type: z.literal("problem"),
  row: z.int(),
  dataSource: z.string().nullable(),
  samples: z.array(
    z.object({
      text: z.string(),
      finishReason: z.enum(["stop", "length"]),
      responseTokens: z.int(),
      result: rewardResultSchema,
    }),
  ),
});

export interface ResultFile {
  /** What an earlier evaluation has left. */
  done: EvaluatedProblem[];
  append(problems: readonly EvaluatedProblem[]): void;
}

/**
 * Opens or begins a result file: a line that says what the evaluation is of, then a line a problem. A last line that
 * a crash cut short is taken off. Throws DataError where the file is of another evaluation, or of none.
 */
export function openResultFile(file: string, identity: EvalIdentity): ResultFile {
  mkdirSync(dirname(file), { recursive: true });
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  const [head, ...rest] = whole.split("\n").filter((line) => line !== "");
  if (head === undefined && !isCutHead(text)) throw notResults(file, 1);
  if (head !== undefined) assertSame(file, head, identity);
  if (whole.length < text.length) cutTo(file, Buffer.byteLength(whole));
  if (head === undefined) append(file, [{ type: "eval", version: 1, identity }]);
  return {
    done: rest.map((line, index) => toProblem(file, line, index + 2)),
    append: (problems) =>
      append(
        file,
        problems.map((problem) => ({ type: "problem", ...problem })),
      ),
  };
}

const headStart = '{"type":"eval"';

/** True for the beginning of a first line, however short. */
const isCutHead = (text: string): boolean =>
  text.startsWith(headStart) || headStart.startsWith(text);

function append(file: string, lines: readonly object[]): void {
  appendFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
}

function cutTo(file: string, bytes: number): void {
  const handle = openSync(file, "r+");
  try {
    ftruncateSync(handle, bytes);
  } finally {
    closeSync(handle);
  }
}

function assertSame(file: string, line: string, identity: EvalIdentity): void {
  const head = headSchema.safeParse(toJson(line));
  if (!head.success) throw notResults(file, 1);
  const found = head.data.identity;
  const differing = Object.keys({ ...found, ...identity }).filter(
    (key) => found[key] !== identity[key],
  );
  if (differing.length === 0) return;
  const words = differing.map(
    (key) =>
      `${key} ${JSON.stringify(found[key] ?? null)}, now ${JSON.stringify(identity[key] ?? null)}`,
  );
  throw new DataError(`the results there are of another evaluation: ${words.join("; ")}`, {
    code: "eval-differs",
    place: { file },
    hint: "give another --out file, or remove this one",
  });
}

function toProblem(file: string, line: string, number: number): EvaluatedProblem {
  const parsed = problemSchema.safeParse(toJson(line));
  if (!parsed.success) throw notResults(file, number);
  const { type: _, ...problem } = parsed.data;
  return problem;
}

function notResults(file: string, line: number): DataError {
  return new DataError("this is no result of an evaluation", {
    code: "eval-file",
    place: { file, line },
    hint: "give a new file as --out, or one that an evaluation wrote",
  });
}

function toJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The schema says that it isn't one of ours.
    return null;
  }
}
