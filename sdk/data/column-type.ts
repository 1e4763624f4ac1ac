import { sqlName } from "./duckdb.js";

/** The shape of a column's values, as Parquet needs it: one type for all rows. */
type Shape =
  | { kind: "null" | "boolean" | "integer" | "number" | "text" }
  | { kind: "list"; item: Shape }
  | { kind: "struct"; fields: Map<string, Shape> };

/** A column's type, as its values tell it one after another. */
export interface ColumnType {
  /** Throws a TypeError where the value has no type in common with those before it. */
  add(value: unknown): void;
  /** DuckDB's type that holds all values so far. */
  toSql(): string;
}

export function newColumnType(): ColumnType {
  let shape: Shape = { kind: "null" };
  return {
    add(value) {
      shape = unify(shape, shapeOf(value));
    },
    toSql: () => toSql(shape),
  };
}

function shapeOf(value: unknown): Shape {
  if (value === null || value === undefined) return { kind: "null" };
  if (typeof value === "boolean") return { kind: "boolean" };
  if (typeof value === "string") return { kind: "text" };
  if (typeof value === "number" && Number.isFinite(value)) {
    return { kind: Number.isSafeInteger(value) ? "integer" : "number" };
  }
  if (Array.isArray(value)) {
    return { kind: "list", item: value.map(shapeOf).reduce(unify, { kind: "null" }) };
  }
  if (typeof value !== "object") throw new TypeError(`${String(value)} can't be stored`);
  const fields = Object.entries(value).map(([key, below]): [string, Shape] => [
    key,
    shapeOf(below),
  ]);
  return { kind: "struct", fields: new Map(fields) };
}

function unify(a: Shape, b: Shape): Shape {
  if (a.kind === "null") return b;
  if (b.kind === "null") return a;
  if (a.kind === "list" && b.kind === "list") return { kind: "list", item: unify(a.item, b.item) };
  if (a.kind === "struct" && b.kind === "struct") {
    const fields = new Map(a.fields);
    for (const [key, shape] of b.fields) {
      fields.set(key, unify(fields.get(key) ?? { kind: "null" }, shape));
    }
    return { kind: "struct", fields };
  }
  if (a.kind === b.kind) return a;
  const numbers = new Set(["integer", "number"]);
  if (numbers.has(a.kind) && numbers.has(b.kind)) return { kind: "number" };
  throw new TypeError(`it is ${a.kind} in one row and ${b.kind} in another`);
}

function toSql(shape: Shape): string {
  switch (shape.kind) {
    case "boolean":
      return "BOOLEAN";
    case "integer":
      return "BIGINT";
    case "number":
      return "DOUBLE";
    case "list":
      return `${toSql(shape.item)}[]`;
    case "struct": {
      // Parquet has no struct without fields.
      if (shape.fields.size === 0) return "VARCHAR";
      const fields = [...shape.fields].map(([key, below]) => `${sqlName(key)} ${toSql(below)}`);
      return `STRUCT(${fields.join(", ")})`;
    }
    default:
      return "VARCHAR";
  }
}
