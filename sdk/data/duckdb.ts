import type { DuckDBConnection } from "@duckdb/node-api";

/** Runs `work` on a fresh in-memory DuckDB, closed afterwards. */
export async function withDuckDb<T>(
  work: (connection: DuckDBConnection) => Promise<T>,
): Promise<T> {
  const { DuckDBInstance } = await import("@duckdb/node-api");
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  try {
    return await work(connection);
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** A text as a SQL literal. */
export const sqlText = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** A name as a SQL identifier. */
export const sqlName = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** Rows of a query, a chunk in memory at a time, as plain JSON-like values: 64-bit integers are numbers where they fit, dates are ISO texts. */
export async function* streamRows(sql: string): AsyncGenerator<Record<string, unknown>> {
  const { DuckDBInstance } = await import("@duckdb/node-api");
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  try {
    const result = await connection.stream(sql);
    for await (const rows of result.yieldRowObjectJs()) {
      for (const row of rows) yield toPlain(row) as Record<string, unknown>;
    }
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

function toPlain(value: unknown): unknown {
  if (typeof value === "bigint") {
    return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  }
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(toPlain);
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, below]) => [key, toPlain(below)]));
}
