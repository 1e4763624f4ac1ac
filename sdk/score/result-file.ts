import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createWriteStream, mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname, extname } from "node:path";
import { DataError } from "../../bridge/errors.js";
import type { RewardResult } from "../../bridge/hooks/types.js";
import { sqlText, withDuckDb } from "../data/duckdb.js";
import type { ScoreCase } from "./cases.js";

/** What a case came to, as a row of the file that `--out` names. An absent value is null. */
export function toResultRow(
  { taskId, response, groundTruth }: ScoreCase,
  result: RewardResult,
  row: number,
): Record<string, unknown> {
  const isScore = result.kind === "score";
  return {
    row: row + 1,
    task: taskId,
    response,
    ground_truth: groundTruth,
    result: result.kind,
    score: isScore ? result.value : null,
    success: isScore ? result.success : null,
    metrics: isScore ? result.metrics : null,
    code: result.kind === "failed" ? result.code : null,
    reason: isScore ? null : result.reason,
  };
}

export interface ResultWriter {
  write(each: ScoreCase, result: RewardResult, row: number): Promise<void>;
  /** Puts the file in its place. */
  finish(): Promise<void>;
  /** Leaves nothing behind of a file that isn't finished. */
  discard(): void;
}

/** Writes result rows as JSONL or Parquet, by the name's ending; the file appears whole or not at all. */
export function openResultFile(path: string): ResultWriter {
  const ending = extname(path);
  if (ending !== ".jsonl" && ending !== ".parquet") {
    throw new DataError(`${path} has to end in .jsonl or .parquet`, {
      code: "data-format",
      place: { at: "--out" },
    });
  }
  mkdirSync(dirname(path), { recursive: true });
  const lines = `${path}.${randomUUID()}.jsonl`;
  const part = `${path}.${randomUUID()}.part`;
  const stream = createWriteStream(lines);
  const failure = once(stream, "error").then(([error]) => Promise.reject(error as Error));
  failure.catch(() => {});
  const isParquet = ending === ".parquet";
  return {
    async write(each, result, row) {
      const { ground_truth: truth, metrics, ...rest } = toResultRow(each, result, row);
      // Columns of one type: a ground truth may be anything.
      const values = isParquet
        ? { ...rest, ground_truth: JSON.stringify(truth), metrics: JSON.stringify(metrics) }
        : { ...rest, ground_truth: truth, metrics };
      if (stream.write(`${JSON.stringify(values)}\n`)) return;
      await Promise.race([once(stream, "drain"), failure]);
    },
    async finish() {
      stream.end();
      await Promise.race([once(stream, "close"), failure]);
      if (isParquet) await toParquet(lines, part);
      renameSync(isParquet ? part : lines, path);
      rmSync(lines, { force: true });
    },
    discard() {
      stream.destroy();
      for (const file of [lines, part]) rmSync(file, { force: true });
    },
  };
}

const columns = {
  row: "BIGINT",
  task: "VARCHAR",
  response: "VARCHAR",
  ground_truth: "VARCHAR",
  result: "VARCHAR",
  score: "DOUBLE",
  success: "BOOLEAN",
  metrics: "VARCHAR",
  code: "VARCHAR",
  reason: "VARCHAR",
};

async function toParquet(lines: string, target: string): Promise<void> {
  const types = Object.entries(columns).map(([name, type]) => `${name}: '${type}'`);
  const source = `read_json(${sqlText(lines)}, format='newline_delimited', columns={${types.join(", ")}}, maximum_object_size=268435456)`;
  await withDuckDb((connection) =>
    connection.run(`COPY (SELECT * FROM ${source}) TO ${sqlText(target)} (FORMAT parquet)`),
  );
}
