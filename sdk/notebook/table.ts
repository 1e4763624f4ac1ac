import { escapeHtml } from "./html.js";

export interface TableOptions {
  /** Which fields, in this order; default: those of the first row. */
  columns?: readonly string[];
  /** How many rows are shown; default 20. A line below says how many more there are. */
  limit?: number;
}

const cell = "text-align:left;vertical-align:top;padding:2px 10px 2px 0;white-space:pre-wrap";
const longest = 300;

/** Rows as an HTML table, for a notebook's `display.html`. Values are shown as text, never as markup; long ones are cut. */
export function table(
  rows: readonly Readonly<Record<string, unknown>>[],
  { columns = Object.keys(rows[0] ?? {}), limit = 20 }: TableOptions = {},
): string {
  if (rows.length === 0) return "<p>no rows</p>";
  const heads = columns.map((name) => `<th scope="col" style="${cell}">${escapeHtml(name)}</th>`);
  const lines = rows.slice(0, limit).map((row) => {
    const cells = columns.map((name) => `<td style="${cell}">${escapeHtml(show(row[name]))}</td>`);
    return `<tr>${cells.join("")}</tr>`;
  });
  const more = rows.length > limit ? `<p>and ${rows.length - limit} more rows</p>` : "";
  return `<table><thead><tr>${heads.join("")}</tr></thead><tbody>${lines.join("")}</tbody></table>${more}`;
}

/** A value as a cell's text: three decimals at most, JSON for what is no text, a dash for nothing. */
export function show(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return String(Math.round(value * 1000) / 1000);
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? String(value));
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}
