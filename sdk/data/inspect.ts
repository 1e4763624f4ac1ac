import { createHash } from "node:crypto";
import type { Message } from "../../bridge/hooks/types.js";
import { type DataRow, isProblem, type RowProblem } from "./row.js";

/** Rows of a kind: how many, and the first few of them (counted from 1). */
export interface Found<T> {
  count: number;
  first: T[];
}

export interface FileReport {
  file: string;
  rows: number;
  /** Column -> type; null where it can't be told. */
  columns: Record<string, string> | null;
  /** `data_source` -> rows. */
  dataSources: Record<string, number>;
  /** Rows that can't be read. */
  bad: Found<RowProblem>;
  /** Rows whose ground truth the reward refuses; null: no reward was given. */
  refused: Found<RowProblem> | null;
  /** Rows whose prompt an earlier row of the file has, case and blanks aside. */
  duplicates: Found<{ row: number; of: number }>;
  tokens: TokenReport | null;
}

export interface TokenReport {
  p50: number;
  p95: number;
  max: number;
  /** data.max_prompt_length; null: none was given. */
  limit: number | null;
  over: Found<{ row: number; tokens: number }>;
}

/** Prompts that two files have in common. */
export interface Leak {
  files: [string, string];
  found: Found<{ rows: [number, number] }>;
}

const shown = 3;

export function newFound<T>(): Found<T> {
  return { count: 0, first: [] };
}

export function addFound<T>(found: Found<T>, item: T): void {
  found.count += 1;
  if (found.first.length < shown) found.first.push(item);
}

/** A prompt's key: equal for prompts that differ in case and blanks alone. */
export function promptKey(prompt: readonly Message[]): string {
  const text = JSON.stringify(prompt.map(({ role, content }) => [role, content]));
  const plain = text.toLowerCase().replaceAll(/(\\[nrt]|\s)+/g, " ");
  return createHash("sha1").update(plain).digest("base64").slice(0, 16);
}

/** Looks at rows one after another; what it keeps of each is a key of its prompt. */
export interface Inspector {
  /** What is wrong with the row; null for one that can be used. */
  add(file: string, row: DataRow | RowProblem): RowProblem | null;
  files(): Omit<FileReport, "columns" | "tokens">[];
  leaks(): Leak[];
}

type Truth = (groundTruth: unknown, column: string, row: number) => RowProblem | null;

/** `refuses` tells what is wrong with a ground truth; null where no reward is given. */
export function newInspector(refuses: Truth | null): Inspector {
  const reports = new Map<string, Omit<FileReport, "columns" | "tokens">>();
  const seen = new Map<string, Map<string, number>>();
  const leaks = new Map<string, Leak>();

  const reportOf = (file: string): Omit<FileReport, "columns" | "tokens"> => {
    const known = reports.get(file);
    if (known) return known;
    const report = {
      file,
      rows: 0,
      dataSources: {},
      bad: newFound<RowProblem>(),
      refused: refuses ? newFound<RowProblem>() : null,
      duplicates: newFound<{ row: number; of: number }>(),
    };
    reports.set(file, report);
    seen.set(file, new Map());
    return report;
  };

  const addPrompt = (file: string, key: string, row: number): void => {
    const own = seen.get(file) as Map<string, number>;
    const earlier = own.get(key);
    if (earlier !== undefined) {
      addFound(reportOf(file).duplicates, { row, of: earlier });
      return;
    }
    own.set(key, row);
    for (const [other, keys] of seen) {
      const there = other === file ? undefined : keys.get(key);
      if (there === undefined) continue;
      const name = `${other}\n${file}`;
      const leak = leaks.get(name) ?? { files: [other, file], found: newFound() };
      leaks.set(name, leak as Leak);
      addFound(leak.found, { rows: [there, row] });
    }
  };

  return {
    add(file, row) {
      const report = reportOf(file);
      report.rows += 1;
      if (isProblem(row)) {
        addFound(report.bad, row);
        return row;
      }
      const source = row.dataSource ?? "none";
      report.dataSources[source] = (report.dataSources[source] ?? 0) + 1;
      addPrompt(file, promptKey(row.prompt), report.rows);
      const problem = refuses?.(row.groundTruth, "ground truth", report.rows) ?? null;
      if (problem && report.refused) addFound(report.refused, problem);
      return problem;
    },
    files: () => [...reports.values()],
    leaks: () => [...leaks.values()],
  };
}

/** The lengths that half and 95 in 100 of the prompts don't exceed, the longest, and those over the limit. */
export function toTokenReport(lengths: readonly number[], limit: number | null): TokenReport {
  const sorted = Float64Array.from(lengths).sort();
  const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
  const over = newFound<{ row: number; tokens: number }>();
  lengths.forEach((tokens, index) => {
    if (limit !== null && tokens > limit) addFound(over, { row: index + 1, tokens });
  });
  return { p50: at(0.5), p95: at(0.95), max: sorted.at(-1) ?? 0, limit, over };
}
