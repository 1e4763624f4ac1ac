import { existsSync, readFileSync, statSync } from "node:fs";
import { extname } from "node:path";
import { DataError } from "../../bridge/errors.js";
import { queryRows, sqlText } from "./duckdb.js";
import {
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

interface RawFile {
  columns: string[];
  rows: Record<string, unknown>[];
}

/**
 * The rows of a Parquet, JSONL, JSON or CSV file, in veRL's nested layout (`prompt`, `reward_model.ground_truth`)
 * or a flat one (`prompt` or `question`, `ground_truth` or `answer`). Throws DataError naming row and column.
 */
export async function readDataFile(
  file: string,
  options: { promptKey?: string } = {},
): Promise<DataFile> {
  const raw = await readRaw(file);
  if (raw.rows.length === 0) throw emptyError(file);
  const layout = assertLayout(file, raw.columns, options.promptKey);
  const read = raw.rows.map((row, index) => toDataRow(row, layout, index));
  const problems = read.filter(isProblem);
  if (problems.length > 0) throw rowError(file, problems);
  const nested =
    extname(file) === ".parquet" &&
    layout.prompt === "prompt" &&
    layout.groundTruth === "reward_model.ground_truth" &&
    raw.rows.every((row) => Array.isArray(row[layout.prompt]));
  return { file, rows: read as DataRow[], layout, nested };
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

async function readRaw(file: string): Promise<RawFile> {
  if (!existsSync(file)) {
    throw new DataError(`the data file ${file} is not there`, {
      code: "data-missing",
      place: { file },
      hint: "check data.train_files and data.val_files; paths start at the project's folder",
    });
  }
  if (statSync(file).size === 0) throw emptyError(file);
  try {
    return await readByName(file);
  } catch (cause) {
    if (cause instanceof DataError) throw cause;
    throw new DataError(`can't read the data file ${file}: ${firstLine(cause)}`, {
      code: "data-format",
      place: { file },
      hint: "the file's name has to end in what it holds: .parquet, .jsonl, .json or .csv",
      cause,
    });
  }
}

async function readByName(file: string): Promise<RawFile> {
  const kind = extname(file).toLowerCase();
  if (kind === ".parquet") return queryRows(`SELECT * FROM read_parquet(${sqlText(file)})`);
  if (kind === ".csv") {
    return queryRows(`SELECT * FROM read_csv(${sqlText(file)}, header=true, all_varchar=true)`);
  }
  if (kind === ".jsonl" || kind === ".ndjson") return fromObjects(file, parseLines(file));
  if (kind === ".json") return fromObjects(file, parseArray(file));
  throw new DataError(`${file} is in no format that genenv reads`, {
    code: "data-format",
    place: { file },
    hint: "give a .parquet, .jsonl, .json or .csv file",
  });
}

function parseLines(file: string): unknown[] {
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.flatMap((text, index): unknown[] => {
    if (text.trim() === "") return [];
    try {
      return [JSON.parse(text)];
    } catch (cause) {
      throw new DataError(`line ${index + 1} is not JSON: ${firstLine(cause)}`, {
        code: "bad-row",
        place: { file, line: index + 1 },
        hint: "each line of a .jsonl file is one JSON object",
        cause,
      });
    }
  });
}

function parseArray(file: string): unknown[] {
  const value: unknown = JSON.parse(readFileSync(file, "utf8"));
  if (Array.isArray(value)) return value;
  throw new Error("its top level is not a list of rows");
}

function fromObjects(file: string, values: unknown[]): RawFile {
  const bad = values.findIndex((value) => typeof value !== "object" || value === null);
  if (bad >= 0)
    throw rowError(file, [{ row: bad + 1, column: "all", problem: "is not an object" }]);
  const rows = values as Record<string, unknown>[];
  return { rows, columns: [...new Set(rows.flatMap((row) => Object.keys(row)))] };
}

function assertLayout(file: string, columns: string[], promptKey?: string): Layout {
  const { prompt, groundTruth } = findLayout(columns, promptKey);
  if (prompt === null) throw columnError(file, columns, promptKey ?? "prompt", "question");
  if (groundTruth === null) {
    throw columnError(file, columns, "reward_model.ground_truth", "ground_truth, answer");
  }
  return { prompt, groundTruth };
}

function columnError(file: string, columns: string[], column: string, others: string): DataError {
  return new DataError(`${file} has no column ${column} (nor ${others})`, {
    code: "missing-column",
    place: { file, at: `its columns are ${columns.join(", ")}` },
    hint: "rename a column, or write the file with writeDataset()",
  });
}

function emptyError(file: string): DataError {
  return new DataError(`the data file ${file} has no rows`, {
    code: "data-empty",
    place: { file },
    hint: "a data file needs at least one row",
  });
}

const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split("\n")[0] ?? "";
