import type { PairedTest } from "../eval/statistics.js";
import type { EvalComparison, EvalFigures, EvalReport } from "../eval/types.js";
import { toSafeText } from "./progress-text.js";

/** A report as lines: what it is of, a table with a line for all and one a data source, and what went wrong. */
export function formatReport(report: EvalReport): string {
  const { overall, bySource, n, sampling } = report;
  const rows = bySource.length > 1 ? bySource : [];
  const sampled = `${n} ${n === 1 ? "sample" : "samples"} each, temperature ${sampling.temperature}`;
  return [
    `model   ${report.model}`,
    `data    ${report.data} (${overall.problems} problems, ${sampled})`,
    `reward  ${report.reward}`,
    "",
    ...formatTable([
      header(n),
      row("all", overall, n),
      ...rows.map((figures) => row(figures.dataSource ?? "(no source)", figures, n)),
    ]),
    ...notes(overall),
  ]
    .map(toSafeText)
    .join("\n");
}

/** Whether the second model differs from the first. */
export function formatComparison(comparison: EvalComparison): string {
  const { first, second, problems, mean, passAt1 } = comparison;
  return [
    `${second} against ${first}, on ${problems} problems:`,
    `  mean score  ${differenceText(mean)}`,
    `  pass@1      ${differenceText(passAt1)}`,
    "  p: two-sided sign-flip permutation test of the paired differences, problem by problem",
  ]
    .map(toSafeText)
    .join("\n");
}

/** Powers of two up to n, and n: the k that a table shows. */
export function shownK(n: number): number[] {
  const powers = Array.from({ length: 31 }, (_, power) => 2 ** power);
  return [...powers.filter((k) => k < n), n];
}

function header(n: number): string[] {
  const passes = shownK(n).map((k) => `pass@${k}`);
  return ["", "problems", "mean", "95 % interval", ...passes, "failed", "abstained", "cut off"];
}

function row(name: string, figures: EvalFigures, n: number): string[] {
  const { mean, passAt, failed, abstained, truncated, samples } = figures;
  const interval =
    mean?.low == null || mean.high == null
      ? "-"
      : `${mean.low.toFixed(3)} to ${mean.high.toFixed(3)}`;
  return [
    name,
    String(figures.problems),
    mean ? mean.value.toFixed(3) : "-",
    interval,
    ...shownK(n).map((k) => passAt[k - 1]?.estimate?.value.toFixed(3) ?? "-"),
    share(failed.count, samples),
    share(abstained.count, samples),
    share(truncated, samples),
  ];
}

const share = (count: number, of: number): string =>
  count === 0 ? "0" : `${count} (${((100 * count) / of).toFixed(0)} %)`;

function notes(figures: EvalFigures): string[] {
  const { failed, abstained, unscoredProblems } = figures;
  const lines: string[] = [];
  if (failed.first !== null) {
    lines.push(`failed: ${countText(failed.codes)}; the first: ${firstLine(failed.first)}`);
  }
  if (abstained.count > 0) lines.push(`abstained: ${countText(abstained.reasons)}`);
  if (unscoredProblems > 0) {
    lines.push(`${unscoredProblems} problems have no scored response and are in no mean`);
  }
  return lines.length > 0 ? ["", ...lines] : [];
}

function countText(counts: Record<string, number>): string {
  const entries = Object.entries(counts).sort(([, a], [, b]) => b - a);
  const shown = entries.slice(0, 5).map(([word, count]) => `${firstLine(word)} ${count}`);
  return shown.join(", ") + (entries.length > 5 ? ` and ${entries.length - 5} more` : "");
}

const firstLine = (text: string): string => (text.split("\n")[0] ?? "").slice(0, 200);

function differenceText(test: PairedTest | null): string {
  if (!test) return "-";
  const { value, low, high } = test.difference;
  const signed = (x: number): string => `${x < 0 ? "-" : "+"}${Math.abs(x).toFixed(3)}`;
  const interval =
    low === null || high === null ? "" : ` (95 % interval ${signed(low)} to ${signed(high)})`;
  return `${signed(value)}${interval}, p = ${test.pValue.toFixed(4)}`;
}

/** Columns under each other: the first to the left, the others to the right. */
function formatTable(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((cells) => cells[column]?.length ?? 0)),
  );
  return rows.map((cells) =>
    cells
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join("  ")
      .trimEnd(),
  );
}
