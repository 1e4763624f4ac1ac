import { createReadStream, existsSync, readFileSync, statSync } from "node:fs";
import { extname } from "node:path";
import { createInterface } from "node:readline";
import { DataError } from "../../bridge/errors.js";
import { sqlText, streamRows } from "./duckdb.js";

/** A row as its file has it. */
export type RawRow = Record<string, unknown>;

/**
 * The rows of a Parquet, JSONL, JSON or CSV file, one after another: only a JSON file is held whole. Throws DataError
 * where the file isn't there, is empty or can't be read. With `texts`, a row that is a text has it in that column.
 */
export async function* rawRows(
  file: string,
  { texts }: { texts?: string } = {},
): AsyncGenerator<RawRow, void, undefined> {
  if (!existsSync(file)) throw missingError(file);
  if (statSync(file).size === 0) throw emptyError(file);
  let count = 0;
  try {
    for await (const row of rowsByName(file, texts)) {
      count += 1;
      yield row;
    }
  } catch (cause) {
    if (cause instanceof DataError) throw cause;
    throw new DataError(`can't read the data file ${file}: ${firstLine(cause)}`, {
      code: "data-format",
      place: { file },
      hint: "the file's name has to end in what it holds: .parquet, .jsonl, .json or .csv",
      cause,
    });
  }
  if (count === 0) throw emptyError(file);
}

/** The columns of a file, with the type that DuckDB sees in them; null where it can't tell (a JSON file of its own kind). */
export async function columnTypes(file: string): Promise<Record<string, string> | null> {
  const source = sourceOf(file) ?? `read_json_auto(${sqlText(file)})`;
  const types: Record<string, string> = {};
  try {
    for await (const row of streamRows(`DESCRIBE SELECT * FROM ${source}`)) {
      types[String(row.column_name)] = String(row.column_type);
    }
  } catch {
    // Only the display of types depends on this; the rows are read by ourselves, and say what is wrong with them.
    return null;
  }
  return types;
}

/** What DuckDB reads a file with; null for the formats that are parsed here. */
function sourceOf(file: string): string | null {
  const kind = extname(file).toLowerCase();
  if (kind === ".parquet") return `read_parquet(${sqlText(file)})`;
  if (kind === ".csv") return `read_csv(${sqlText(file)}, header=true, all_varchar=true)`;
  return null;
}

function rowsByName(file: string, texts?: string): AsyncIterable<RawRow> | Iterable<RawRow> {
  const kind = extname(file).toLowerCase();
  const source = sourceOf(file);
  if (source) return streamRows(`SELECT * FROM ${source}`);
  if (kind === ".jsonl" || kind === ".ndjson") return lineRows(file, texts);
  if (kind === ".json") {
    return parseArray(file).map((value, index) => toRow(file, value, index, texts));
  }
  throw new DataError(`${file} is in no format that genenv reads`, {
    code: "data-format",
    place: { file },
    hint: "give a .parquet, .jsonl, .json or .csv file",
  });
}

async function* lineRows(file: string, texts?: string): AsyncGenerator<RawRow> {
  const input = createReadStream(file, "utf8");
  let line = 0;
  let index = 0;
  try {
    for await (const text of createInterface({ input, crlfDelay: Infinity })) {
      line += 1;
      if (text.trim() !== "") yield toRow(file, parseLine(file, text, line), index++, texts);
    }
  } finally {
    input.destroy();
  }
}

function parseLine(file: string, text: string, line: number): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new DataError(`line ${line} is not JSON: ${firstLine(cause)}`, {
      code: "bad-row",
      place: { file, line },
      hint: "each line of a .jsonl file is one JSON object",
      cause,
    });
  }
}

function parseArray(file: string): unknown[] {
  const value: unknown = JSON.parse(readFileSync(file, "utf8"));
  if (Array.isArray(value)) return value;
  throw new Error("its top level is not a list of rows");
}

function toRow(file: string, value: unknown, index: number, texts?: string): RawRow {
  if (texts !== undefined && typeof value === "string") return { [texts]: value };
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as RawRow;
  }
  throw new DataError(`row ${index + 1}, all is not an object`, {
    code: "bad-row",
    place: { file, at: `row ${index + 1} (the first row is 1), column all` },
    hint: "mend or remove these rows",
  });
}

function missingError(file: string): DataError {
  return new DataError(`the data file ${file} is not there`, {
    code: "data-missing",
    place: { file },
    hint: "check data.train_files and data.val_files; paths start at the project's folder",
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
