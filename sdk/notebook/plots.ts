/** Charts as HTML with an SVG in it: the report's plot library, drawn without a browser. Bundled by scripts/build-page.mjs. */
import { dot, line, type PlotOptions, plot, rectY, ruleY } from "@observablehq/plot";
import { parseHTML } from "linkedom/worker";
import { escapeHtml } from "./html.js";

export interface HistogramOptions {
  title?: string;
  /** How many bars; default 10. */
  bins?: number;
  /** The lowest and the highest value; default: 0 and 1 where all values are between them, else the values' own. */
  domain?: readonly [number, number];
}

export interface CurvesOptions {
  title?: string;
  /** What stands under the horizontal axis; default "epoch". */
  x?: string;
}

/** Numbers by place (from 1 on), or by a place of their own; null where there is none. */
export type Series = readonly (number | null)[] | readonly { x: number; y: number | null }[];

const colors = ["#2f6fd0", "#d9480f", "#0b8a6f", "#8250c4", "#b8860b", "#c2255c"];

/** How many values fall where. Values that are no numbers (null: no score) are counted in a line below. */
export function histogram(
  values: readonly (number | null)[],
  { title = "", bins = 10, domain }: HistogramOptions = {},
): string {
  const known = values.filter((value): value is number => Number.isFinite(value));
  const [low, high] = domain ?? spanOf(known);
  const width = (high - low) / bins;
  const bars = Array.from({ length: bins }, (_, place) => ({
    from: low + place * width,
    to: low + (place + 1) * width,
    count: 0,
  }));
  for (const value of known) {
    // The highest value belongs to the last bar.
    const place = Math.min(bins - 1, Math.floor((value - low) / width + 1e-9));
    const bar = bars[place];
    if (bar) bar.count += 1;
  }
  const without = values.length - known.length;
  const note = without > 0 ? `${without} without a value` : "";
  return figure(title, note, {
    x: { label: null, domain: [low, high] },
    y: { grid: true, label: "count", tickFormat: "d", ticks: 4 },
    marks: [
      rectY(bars, {
        x1: "from",
        x2: "to",
        y: "count",
        fill: colors[0],
        insetLeft: 0.5,
        insetRight: 0.5,
      }),
      ruleY([0]),
    ],
  });
}

/** Curves over epochs (or whatever `x` says), with a legend where there are several. */
export function curves(
  series: Readonly<Record<string, Series>>,
  { title = "", x = "epoch" }: CurvesOptions = {},
): string {
  const names = Object.keys(series);
  const points = names.flatMap((name) => toPoints(name, series[name] ?? []));
  const colorOf = (name: string): string => colors[names.indexOf(name) % colors.length] ?? "";
  const xs = [...new Set(points.map((point) => point.x))];
  const legend = names
    .map((name) => `<span style="color:${colorOf(name)}">●</span> ${escapeHtml(name)}`)
    .join("&emsp;");
  const options: PlotOptions = {
    x: { label: x, labelArrow: "none", ...(xs.length < 12 ? { ticks: xs, tickFormat: "~g" } : {}) },
    y: { grid: true, label: null, nice: true, zero: true },
    marks: [
      line(points, { x: "x", y: "y", z: "name", stroke: (at) => colorOf(at.name), strokeWidth: 2 }),
      ...(xs.length <= 60
        ? [dot(points, { x: "x", y: "y", fill: (at) => colorOf(at.name), r: 3 })]
        : []),
    ],
  };
  return figure(title, points.length === 0 ? "nothing yet" : "", options, names[1] ? legend : "");
}

interface Point {
  name: string;
  x: number;
  y: number;
}

function toPoints(name: string, series: Series): Point[] {
  return series.flatMap((value, place) => {
    const [x, y] =
      typeof value === "object" && value !== null ? [value.x, value.y] : [place + 1, value];
    return y !== null && Number.isFinite(y) ? [{ name, x, y }] : [];
  });
}

function spanOf(values: readonly number[]): [number, number] {
  const low = values.reduce((least, value) => Math.min(least, value), 0);
  const high = values.reduce((most, value) => Math.max(most, value), low === 0 ? 1 : low);
  return low === high ? [low, low + 1] : [low, high];
}

function figure(title: string, note: string, options: PlotOptions, legend = ""): string {
  const { document } = parseHTML("<html><body></body></html>");
  const drawn = plot({
    // A DOM of its own: there is no browser here.
    document: document as unknown as Document,
    width: 520,
    height: 200,
    marginLeft: 44,
    style: { fontSize: "12px", background: "none" },
    ...options,
  });
  drawn.setAttribute("role", "img");
  drawn.setAttribute("aria-label", title || "chart");
  const head = title ? `<strong>${escapeHtml(title)}</strong> ` : "";
  const top = head || legend ? `<div>${head}${legend}</div>` : "";
  const below = note ? `<div>${escapeHtml(note)}</div>` : "";
  return `<div>${top}${drawn.outerHTML}${below}</div>`;
}
