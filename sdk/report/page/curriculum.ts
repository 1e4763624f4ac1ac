import {
  areaY,
  dot,
  lineY,
  pointer,
  rect,
  ruleY,
  type ScaleOptions,
  tip,
} from "@observablehq/plot";
import { show } from "./dom.js";
import { epochAxis } from "./epoch-axis.js";
import type { Chart } from "./figure.js";
import type { TaskRow } from "./rows.js";

const bins = 10;

interface Cell {
  epoch: number;
  bin: number;
  count: number;
  share: number;
}

/** How the environment's tasks spread over success rates, epoch by epoch; null where none was tried. */
export function successHistogram(rows: readonly TaskRow[], title: string): Chart | null {
  const tried = rows.filter((row) => row.source === "environment" && row.successRate !== null);
  if (tried.length === 0) return null;
  const cells = toCells(tried);
  const epochs = [...new Set(cells.map(({ epoch }) => epoch))].sort((a, b) => a - b);
  const target = rows[0]?.run.targetSuccess ?? null;
  const most = cells.reduce((high, { share }) => Math.max(high, share), 0);
  const range = (bin: number): string => `${bin / bins}–${(bin + 1) / bins}`;
  return {
    title,
    about: "Share of the epoch's tried tasks by success rate p̂; the line is the target.",
    options: (width) => ({
      x: epochAxis(epochs, width, 0.6),
      y: { label: "p̂", labelArrow: "none", domain: [0, 1], ticks: 5 },
      opacity: { domain: [0, most], range: [0.08, 1] },
      marks: [
        rect(cells, {
          x1: (cell: Cell) => cell.epoch - 0.5,
          x2: (cell: Cell) => cell.epoch + 0.5,
          y1: (cell: Cell) => cell.bin / bins,
          y2: (cell: Cell) => (cell.bin + 1) / bins,
          fill: "var(--c1)",
          fillOpacity: "share",
          inset: epochs.length < 60 ? 0.5 : 0,
        }),
        ...(target === null ? [] : [ruleY([target], { stroke: "var(--c2)", strokeWidth: 2 })]),
        tip(
          cells,
          pointer({
            x: "epoch",
            y: (cell: Cell) => (cell.bin + 0.5) / bins,
            title: (cell: Cell) => `epoch ${cell.epoch}, p̂ ${range(cell.bin)}\n${cell.count} tasks`,
          }),
        ),
      ],
    }),
    table: () => ({
      heads: ["Epoch", ...Array.from({ length: bins }, (_, bin) => range(bin))],
      rows: epochs.map((epoch) => [
        String(epoch),
        ...Array.from({ length: bins }, (_, bin) =>
          show(cells.find((cell) => cell.epoch === epoch && cell.bin === bin)?.count ?? 0),
        ),
      ]),
    }),
  };
}

function toCells(tried: readonly TaskRow[]): Cell[] {
  const counts = new Map<number, number[]>();
  for (const { epoch, successRate } of tried) {
    const row = counts.get(epoch) ?? new Array<number>(bins).fill(0);
    const bin = Math.min(bins - 1, Math.floor((successRate ?? 0) * bins + 1e-9));
    row[bin] = (row[bin] ?? 0) + 1;
    counts.set(epoch, row);
  }
  return [...counts].flatMap(([epoch, row]) => {
    const total = row.reduce((sum, count) => sum + count, 0);
    return row.flatMap((count, bin) =>
      count === 0 ? [] : [{ epoch, bin, count, share: count / total }],
    );
  });
}

interface Spread {
  epoch: number;
  low: number;
  median: number;
  high: number;
}

/**
 * How large the tasks grow: the largest number in each new prompt where most prompts hold one, else the prompts'
 * length. Null where the environment wrote nothing.
 */
export function sizeChart(rows: readonly TaskRow[], title: string): Chart | null {
  const written = rows.filter(
    (row) => row.source === "environment" && row.prompt !== null && row.writtenEpoch === row.epoch,
  );
  if (written.length === 0) return null;
  const numbered = written.filter((row) => largestNumber(row.prompt ?? "") !== null);
  const byNumber = numbered.length * 2 > written.length;
  const sizeOf = (row: TaskRow): number =>
    byNumber ? (largestNumber(row.prompt ?? "") ?? 0) : (row.prompt ?? "").length;
  const spreads = toSpreads(byNumber ? numbered : written, sizeOf);
  const wide = spreads.some(({ high }) => high > 1000);
  const what = byNumber ? "The largest number in each new task" : "Characters in each new task";
  return {
    title,
    about: `${what}: median, and the middle half as a band.`,
    options: (width) => ({
      x: epochAxis(
        spreads.map(({ epoch }) => epoch),
        width,
      ),
      y: { grid: true, label: null, ...(wide ? logAxis(spreads) : { zero: true }) },
      marks: [
        areaY(spreads, {
          x: "epoch",
          y1: "low",
          y2: "high",
          fill: "var(--c1)",
          fillOpacity: 0.2,
        }),
        lineY(spreads, { x: "epoch", y: "median", stroke: "var(--c1)", strokeWidth: 2 }),
        ...(spreads.length <= 40
          ? [dot(spreads, { x: "epoch", y: "median", fill: "var(--c1)", r: 3 })]
          : []),
        tip(
          spreads,
          pointer({
            x: "epoch",
            y: "median",
            title: (at: Spread) =>
              `epoch ${at.epoch}: ${show(at.median)}\nmiddle half ${show(at.low)} to ${show(at.high)}`,
          }),
        ),
      ],
    }),
    table: () => ({
      heads: ["Epoch", "First quarter", "Median", "Third quarter"],
      rows: spreads.map((at) => [String(at.epoch), show(at.low), show(at.median), show(at.high)]),
    }),
  };
}

/** From 0 on, each tick ten times the one before. */
function logAxis(spreads: readonly Spread[]): ScaleOptions {
  const most = spreads.reduce((high, at) => Math.max(high, at.high), 0);
  const powers = Array.from(
    { length: Math.floor(Math.log10(most)) },
    (_, place) => 10 ** (place + 1),
  );
  const step = Math.ceil(powers.length / 6);
  const ticks = [0, ...powers.filter((_, place) => place % step === 0)];
  const tickFormat = (tick: number): string => tick.toLocaleString("en", { notation: "compact" });
  return { type: "symlog", constant: 1, domain: [0, most], ticks, tickFormat };
}

/** The largest number that a text holds, commas between thousands allowed; null for none. */
export function largestNumber(text: string): number | null {
  const found = text.match(/\d+(?:,\d{3})*(?:\.\d+)?/g) ?? [];
  const numbers = found.map((part) => Number(part.replaceAll(",", ""))).filter(Number.isFinite);
  return numbers.length === 0 ? null : numbers.reduce((high, value) => Math.max(high, value));
}

function toSpreads(rows: readonly TaskRow[], sizeOf: (row: TaskRow) => number): Spread[] {
  const sizes = new Map<number, number[]>();
  for (const row of rows) {
    const known = sizes.get(row.epoch) ?? [];
    known.push(sizeOf(row));
    sizes.set(row.epoch, known);
  }
  return [...sizes]
    .sort(([a], [b]) => a - b)
    .map(([epoch, values]) => {
      const sorted = values.sort((a, b) => a - b);
      const at = (share: number): number => quantile(sorted, share);
      return { epoch, low: at(0.25), median: at(0.5), high: at(0.75) };
    });
}

function quantile(sorted: readonly number[], share: number): number {
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)] ?? 0;
  const above = sorted[Math.ceil(place)] ?? below;
  return below + (above - below) * (place - Math.floor(place));
}
