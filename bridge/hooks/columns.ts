/** Typed access to the columns of a request's batch. */
import type { z } from "zod";
import type { TextBatch } from "../arrow-read.js";
import { badFrame, Column } from "../wire.js";
import type { Where } from "./result.js";

export type Params = Record<string, unknown>;

export function readParams(batch: TextBatch): Params {
  const text = batch.rows === 0 ? null : (batch.columns.get(Column.PARAMS)?.get(0) ?? null);
  if (text === null) return {};
  const params: unknown = parseJson(text, Column.PARAMS);
  if (typeof params !== "object" || params === null)
    throw badFrame("has params that are no object");
  return params as Params;
}

export function parseJson(text: string, column: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw badFrame(`has broken JSON in column "${column}" (${(error as Error).message})`);
  }
}

export function textOf(batch: TextBatch, column: string): (row: number) => string {
  const values = batch.columns.get(column);
  if (values === undefined) throw badFrame(`misses the column "${column}"`);
  return (row) => {
    const value = values.get(row);
    if (value === null) throw badFrame(`has a null in column "${column}"`);
    return value;
  };
}

export function jsonOf(batch: TextBatch, column: string): (row: number) => unknown {
  const text = textOf(batch, column);
  return (row) => parseJson(text(row), column);
}

/** The first problem of a zod error as "path: message". */
export function firstIssue(error: z.core.$ZodError): string {
  const issue = error.issues[0];
  if (issue === undefined) return "doesn't fit";
  return issue.path.length === 0 ? issue.message : `${issue.path.join(".")}: ${issue.message}`;
}

/** Names a row for messages; a chunk of a larger batch counts from its first row. */
export function whereOf(hook: string, batch: TextBatch): (row: number) => Where {
  const { firstRow } = readParams(batch);
  const first = typeof firstRow === "number" ? firstRow : 0;
  const taskIds = batch.columns.get(Column.TASK_ID);
  return (row) => ({ hook, sample: first + row, taskId: taskIds?.get(row) ?? null });
}
