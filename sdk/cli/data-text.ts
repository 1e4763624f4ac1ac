import { basename } from "node:path";
import type { FileReport, Found, Leak, TokenReport } from "../data/inspect.js";
import type { DataReport } from "../data/report.js";
import type { RowProblem } from "../data/row.js";
import { toSafeText } from "./progress-text.js";

/** What is in each file, and what is wrong with it, a line each. */
export function formatDataReport(report: DataReport): string[] {
  const lines = [...report.files.flatMap(fileLines), ...report.leaks.map(leakLine)];
  return lines.map(toSafeText);
}

/** True where a run would refuse to start on this data. */
export function hasProblems({ files }: DataReport): boolean {
  return files.some(
    ({ bad, refused, tokens }) => bad.count + (refused?.count ?? 0) + (tokens?.over.count ?? 0) > 0,
  );
}

function fileLines(report: FileReport): string[] {
  const { bad, refused, duplicates, tokens } = report;
  const sources = Object.entries(report.dataSources).map(([name, rows]) => `${name} ${rows}`);
  const columns = Object.entries(report.columns ?? {}).map(([name, type]) => `${name} ${type}`);
  return [
    `${report.file}: ${count(report.rows, "row")}`,
    ...columns.map((column) => `  column ${column}`),
    `  data_source: ${sources.join(", ") || "none"}`,
    ...problemLines("can't be used", bad),
    ...(refused ? problemLines("refused by the reward", refused) : []),
    ...(refused && refused.count === 0 ? ["  ground truths: the reward takes all of them"] : []),
    ...(duplicates.count > 0
      ? [
          `  duplicates: ${count(duplicates.count, "row")}, such as row ${duplicates.first[0]?.row}, which repeats row ${duplicates.first[0]?.of}`,
        ]
      : ["  duplicates: none"]),
    ...(tokens ? tokenLines(tokens) : []),
  ];
}

function problemLines(what: string, { count: total, first }: Found<RowProblem>): string[] {
  if (total === 0) return [];
  const shown = first.map(({ row, column, problem }) => `    row ${row}: ${column} ${problem}`);
  const more = total > first.length ? [`    and ${total - first.length} more`] : [];
  return [`  ${what}: ${count(total, "row")}`, ...shown, ...more];
}

function tokenLines({ p50, p95, max, limit, over }: TokenReport): string[] {
  const lengths = `  prompt tokens: p50 ${p50}, p95 ${p95}, max ${max}`;
  if (limit === null) return [`${lengths} (data.max_prompt_length has to be ${max} or more)`];
  if (over.count === 0) return [`${lengths}, none over data.max_prompt_length (${limit})`];
  const shown = over.first.map(({ row, tokens }) => `row ${row} (${tokens})`).join(", ");
  return [
    `${lengths}, ${count(over.count, "row")} over data.max_prompt_length (${limit}): ${shown}${over.count > over.first.length ? ", …" : ""}`,
    `    a run does not start with them: set data.max_prompt_length=${max}, or leave them out with --out FILE --drop`,
  ];
}

function leakLine({ files: [a, b], found }: Leak): string {
  const [one, other] = found.first[0]?.rows ?? [0, 0];
  return `leak: ${count(found.count, "prompt")} of ${basename(b)} also in ${basename(a)}, such as row ${other}, which is row ${one} there`;
}

const count = (total: number, what: string): string =>
  `${total.toLocaleString("en")} ${what}${total === 1 ? "" : "s"}`;
