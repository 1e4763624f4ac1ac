import { extname } from "node:path";
import { DataError } from "../../bridge/errors.js";
import { type RawRow, rawRows } from "./raw.js";
import {
  type ColumnNames,
  type DataRow,
  findLayout,
  isProblem,
  type Layout,
  type RowProblem,
  toDataRow,
} from "./row.js";

export interface DataFile {
  /** Absolute path. */
  file: string;
  rows: DataRow[];
  layout: Layout;
  /** True for Parquet in veRL's nested layout, which veRL reads as it is. */
  nested: boolean;
}

/**
 * The rows of a Parquet, JSONL, JSON or CSV file, in veRL's nested layout (`prompt`, `reward_model.ground_truth`)
 * or a flat one (`prompt` or `question`, `ground_truth` or `answer`). Throws DataError naming row and column.
 */
export async function readDataFile(file: string, options: ColumnNames = {}): Promise<DataFile> {
  const raw: RawRow[] = [];
  for await (const row of rawRows(file)) raw.push(row);
  const columns = [...new Set(raw.flatMap((row) => Object.keys(row)))];
  const layout = assertLayout(file, columns, options);
  const read = raw.map((row, index) => toDataRow(row, layout, index));
  const problems = read.filter(isProblem);
  if (problems.length > 0) throw rowError(file, problems);
  const nested = extname(file) === ".parquet" && isVerlLayout(layout) && raw.every(isVerlPrompt);
  return { file, rows: read as DataRow[], layout, nested };
}

function isVerlLayout({ prompt, groundTruth, dataSource, extra }: Layout): boolean {
  const own = prompt === "prompt" && groundTruth === "reward_model.ground_truth";
  return own && dataSource === "data_source" && extra.length === 0;
}

function isVerlPrompt({ prompt }: RawRow): boolean {
  return (
    Array.isArray(prompt) &&
    prompt.every((message: { content: unknown }) => typeof message.content === "string")
  );
}

// The columns of a file whose rows are objects are those of its first rows.
const rowsForLayout = 1000;

/** The rows of a file one after another, each in genenv's form or as what is wrong with it. */
export async function* streamDataFile(
  file: string,
  options: ColumnNames = {},
): AsyncGenerator<DataRow | RowProblem, void, undefined> {
  let waiting: RawRow[] = [];
  let layout: Layout | null = null;
  let index = 0;
  const start = (): Layout =>
    assertLayout(file, [...new Set(waiting.flatMap((row) => Object.keys(row)))], options);
  for await (const raw of rawRows(file)) {
    if (layout) {
      yield toDataRow(raw, layout, index++);
      continue;
    }
    waiting.push(raw);
    if (waiting.length < rowsForLayout) continue;
    layout = start();
    for (const row of waiting) yield toDataRow(row, layout, index++);
    waiting = [];
  }
  layout ??= start();
  for (const row of waiting) yield toDataRow(row, layout, index++);
}

/** The error for bad rows: the first few of them, and how many there are. */
export function rowError(file: string, problems: readonly RowProblem[]): DataError {
  const shown = problems.slice(0, 3).map((p) => `row ${p.row}, ${p.column} ${p.problem}`);
  const more = problems.length > 3 ? ` (and ${problems.length - 3} more rows)` : "";
  return new DataError(`${shown.join("; ")}${more}`, {
    code: "bad-row",
    place: {
      file,
      at: `row ${problems[0]?.row} (the first row is 1), column ${problems[0]?.column}`,
    },
    hint: "mend or remove these rows",
  });
}

function assertLayout(file: string, columns: string[], names: ColumnNames): Layout {
  const { prompt, groundTruth, dataSource, extra } = findLayout(columns, names);
  const missing = (name: string | undefined, usual: string, others: string): DataError =>
    new DataError(`${file} has no column ${name ?? `${usual} (nor ${others})`}`, {
      code: "missing-column",
      place: { file, at: `its columns are ${columns.join(", ")}` },
      hint: "name the column (data.prompt_key, genenv.data), rename it, or write the file with writeDataset()",
    });
  if (prompt === null) throw missing(names.promptKey, "prompt", "question");
  if (groundTruth === null) {
    throw missing(names.groundTruthKey, "reward_model.ground_truth", "ground_truth, answer");
  }
  if (dataSource === null) throw missing(names.dataSourceKey, "data_source", "none");
  if (extra === null) throw missing(missingOf(columns, names.extraKeys ?? []), "extra", "none");
  return { prompt, groundTruth, dataSource, extra };
}

function missingOf(columns: readonly string[], names: readonly string[]): string | undefined {
  return names.find((name) => findLayout(columns, { extraKeys: [name] }).extra === null);
}
