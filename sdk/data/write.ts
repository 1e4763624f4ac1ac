import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, extname } from "node:path";
import { DataError } from "../../bridge/errors.js";
import type { Message } from "../../bridge/hooks/types.js";
import { columnType } from "./column-type.js";
import { sqlText, withDuckDb } from "./duckdb.js";

/** A row to write: a task with what veRL stores beside it. */
export interface DatasetRow {
  prompt: string | Message[];
  /** A text, a number, or lists and objects of them; of one type in all rows. */
  groundTruth: unknown;
  /** Default: the dataset's. */
  dataSource?: string;
  ability?: string;
  /** Becomes `extra_info`, with the row's `index` added where it has none. */
  extra?: Record<string, unknown>;
}

export interface Dataset {
  name: string;
  ability: string;
  rows: DatasetRow[];
}

/** A dataset: its name (veRL's `data_source`), and a task made of each item, in order. */
export function defineDataset<Item>(definition: {
  name: string;
  ability?: string;
  items: Iterable<Item>;
  toRow(item: Item, index: number): DatasetRow;
}): Dataset {
  const rows = [...definition.items].map((item, index) => definition.toRow(item, index));
  return { name: definition.name, ability: definition.ability ?? "text", rows };
}

/**
 * Writes exactly the nested Parquet that veRL reads: data_source, prompt (a list of role and content), ability,
 * reward_model (style, ground_truth) and extra_info. The file appears whole or not at all.
 */
export async function writeDataset(data: Dataset | DatasetRow[], path: string): Promise<void> {
  const dataset = Array.isArray(data) ? { name: "genenv", ability: "text", rows: data } : data;
  if (extname(path) !== ".parquet") {
    throw new DataError(`${path} has to end in .parquet`, { code: "data-format" });
  }
  if (dataset.rows.length === 0) {
    throw new DataError("a dataset needs at least one row", { code: "data-empty" });
  }
  const rows = dataset.rows.map((row, index) => toStored(row, index, dataset));
  mkdirSync(dirname(path), { recursive: true });
  const lines = `${path}.${process.pid}.jsonl`;
  const part = `${path}.${process.pid}.part`;
  try {
    writeFileSync(lines, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
    await withDuckDb((connection) => connection.run(copySql(rows, lines, part)));
    renameSync(part, path);
  } finally {
    rmSync(lines, { force: true });
    rmSync(part, { force: true });
  }
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
  return {
    data_source: row.dataSource ?? dataset.name,
    prompt: typeof prompt === "string" ? [{ role: "user", content: prompt }] : prompt,
    ability: row.ability ?? dataset.ability,
    reward_model: { style: "rule", ground_truth: row.groundTruth },
    extra_info: { index, ...row.extra },
  };
}

function copySql(rows: StoredRow[], from: string, to: string): string {
  const truth = typeOf("groundTruth", () => rows.map((row) => row.reward_model.ground_truth));
  const extra = typeOf("extra", () => rows.map((row) => row.extra_info));
  const columns = [
    "data_source: 'VARCHAR'",
    "prompt: 'STRUCT(role VARCHAR, content VARCHAR)[]'",
    "ability: 'VARCHAR'",
    `reward_model: ${sqlText(`STRUCT(style VARCHAR, ground_truth ${truth})`)}`,
    `extra_info: ${sqlText(extra)}`,
  ];
  const source = `read_json(${sqlText(from)}, format='newline_delimited', maximum_object_size=268435456, columns={${columns.join(", ")}})`;
  return `COPY (SELECT * FROM ${source}) TO ${sqlText(to)} (FORMAT parquet)`;
}

function typeOf(column: string, values: () => unknown[]): string {
  try {
    return columnType(values());
  } catch (cause) {
    throw new DataError(`can't write ${column}: ${(cause as Error).message}`, {
      code: "mixed-types",
      hint: `give ${column} the same type in every row, a text where nothing else fits`,
      cause,
    });
  }
}
