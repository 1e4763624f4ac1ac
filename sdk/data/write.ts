import { mkdirSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, extname } from "node:path";
import { z } from "zod";
import { DataError } from "../../bridge/errors.js";
import type { Message } from "../../bridge/hooks/types.js";
import { putInPlace } from "../../bridge/whole-file.js";
import { type ColumnType, newColumnType } from "./column-type.js";
import type { Dataset, DatasetRow, DatasetRows } from "./define.js";
import { sqlText, withDuckDb } from "./duckdb.js";

/**
 * Writes exactly the nested Parquet that veRL reads: data_source, prompt (a list of role and content), ability,
 * reward_model (style, ground_truth) and extra_info; gives the number of rows. The rows are asked for one at a time,
 * and the file appears whole or not at all.
 */
export async function writeDataset(
  data: Dataset | DatasetRows,
  path: string,
): Promise<{ rows: number }> {
  const dataset: Dataset =
    "rows" in data ? data : { name: "genenv", ability: "text", groundTruth: null, rows: data };
  if (extname(path) !== ".parquet") {
    throw new DataError(`${path} has to end in .parquet`, {
      code: "data-format",
      hint: "genenv writes Parquet, which veRL reads",
    });
  }
  mkdirSync(dirname(path), { recursive: true });
  const lines = `${path}.${process.pid}.jsonl`;
  const part = `${path}.${process.pid}.part`;
  try {
    const { count, ...shape } = await writeLines(dataset, lines);
    if (count === 0) {
      throw new DataError("a dataset needs at least one row", { code: "data-empty" });
    }
    await withDuckDb(async (connection) => {
      // One thread and a small limit: a row group and two lines have to fit, however many rows there are.
      const limitMb = 512 + Math.ceil((4 * shape.longestLine) / 1e6);
      await connection.run(`SET threads=1; SET memory_limit='${limitMb}MB'`);
      await connection.run(copySql(shape, lines, part));
    });
    putInPlace(part, path);
    return { rows: count };
  } finally {
    rmSync(lines, { force: true });
    rmSync(part, { force: true });
  }
}

interface Shape {
  groundTruth: ColumnType;
  extra: ColumnType;
  /** Bytes. */
  longestLine: number;
}

// Lines are handed to the file in pieces of about this many characters.
const pieceLength = 1 << 18;

async function writeLines(dataset: Dataset, file: string): Promise<Shape & { count: number }> {
  const shape: Shape = { groundTruth: newColumnType(), extra: newColumnType(), longestLine: 0 };
  const out = await open(file, "w");
  let count = 0;
  let piece = "";
  try {
    for await (const row of dataset.rows) {
      const stored = toStored(row, count, dataset);
      count += 1;
      addType("groundTruth", shape.groundTruth, stored.reward_model.ground_truth, count);
      addType("extra", shape.extra, stored.extra_info, count);
      const line = `${JSON.stringify(stored)}\n`;
      shape.longestLine = Math.max(shape.longestLine, Buffer.byteLength(line));
      piece += line;
      if (piece.length < pieceLength) continue;
      await out.writeFile(piece);
      piece = "";
    }
    await out.writeFile(piece);
  } finally {
    await out.close();
  }
  return { ...shape, count };
}

interface StoredRow {
  data_source: string;
  prompt: Message[];
  ability: string;
  reward_model: { style: "rule"; ground_truth: unknown };
  extra_info: Record<string, unknown>;
}

function toStored(row: DatasetRow, index: number, dataset: Dataset): StoredRow {
  const { prompt } = row;
  assertGroundTruth(row, index, dataset);
  return {
    data_source: row.dataSource ?? dataset.name,
    prompt: typeof prompt === "string" ? [{ role: "user", content: prompt }] : prompt,
    ability: row.ability ?? dataset.ability,
    reward_model: { style: "rule", ground_truth: row.groundTruth },
    extra_info: { index, ...row.extra },
  };
}

function assertGroundTruth({ groundTruth }: DatasetRow, index: number, dataset: Dataset): void {
  if (dataset.groundTruth === null) return;
  const parsed = z.safeParse(dataset.groundTruth, groundTruth);
  if (parsed.success) return;
  const value = JSON.stringify(groundTruth)?.slice(0, 80);
  throw new DataError(
    `row ${index + 1} of the dataset "${dataset.name}" has the ground truth ${value}, which its schema refuses: ${parsed.error.issues[0]?.message}`,
    { code: "bad-row", hint: "mend what toRow() gives for it", cause: parsed.error },
  );
}

function copySql({ groundTruth, extra, longestLine }: Shape, from: string, to: string): string {
  const columns = [
    "data_source: 'VARCHAR'",
    "prompt: 'STRUCT(role VARCHAR, content VARCHAR)[]'",
    "ability: 'VARCHAR'",
    `reward_model: ${sqlText(`STRUCT(style VARCHAR, ground_truth ${groundTruth.toSql()})`)}`,
    `extra_info: ${sqlText(extra.toSql())}`,
  ];
  const source = `read_json(${sqlText(from)}, format='newline_delimited', maximum_object_size=${Math.max(2 ** 20, 2 * longestLine)}, columns={${columns.join(", ")}})`;
  return `COPY (SELECT * FROM ${source}) TO ${sqlText(to)} (FORMAT parquet)`;
}

function addType(column: string, type: ColumnType, value: unknown, row: number): void {
  try {
    type.add(value);
  } catch (cause) {
    throw new DataError(`can't write ${column}: ${(cause as Error).message}`, {
      code: "mixed-types",
      place: { at: `row ${row}` },
      hint: `give ${column} the same type in every row, a text where nothing else fits`,
      cause,
    });
  }
}
