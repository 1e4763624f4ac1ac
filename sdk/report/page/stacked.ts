import { pointer, rectY, ruleY, tip } from "@observablehq/plot";
import { colorsFor } from "./colors.js";
import { show } from "./dom.js";
import { epochAxis } from "./epoch-axis.js";
import type { Chart } from "./figure.js";

/** How much of what an epoch had. */
export interface Part {
  epoch: number;
  name: string;
  value: number;
}

interface Piece extends Part {
  x1: number;
  x2: number;
  y1: number;
  y2: number;
}

const mostNames = 8;

/** Bars, one an epoch, of parts on top of each other; the rarest beyond eight are put together. */
export function stackedChart(
  parts: readonly Part[],
  { unit, ...words }: { title: string; about: string; unit: string },
): Chart {
  const names = biggest(parts);
  const totals = sumBy(parts, names);
  const colors = colorsFor(names);
  const epochs = [...totals.keys()].sort((a, b) => a - b);
  const pieces = epochs.flatMap((epoch) => stack(epoch, names, totals.get(epoch) ?? new Map()));
  return {
    ...words,
    legend: names.map((label) => ({ label, color: colors.get(label) ?? "currentColor" })),
    options: (width) => ({
      x: epochAxis(epochs, width, 0.6),
      y: { grid: true, label: unit, labelArrow: "none" },
      color: { domain: names, range: [...colors.values()] },
      marks: [
        rectY(pieces, { x1: "x1", x2: "x2", y1: "y1", y2: "y2", fill: "name" }),
        ruleY([0]),
        tip(
          pieces,
          pointer({
            x: "epoch",
            y: (piece: Piece) => (piece.y1 + piece.y2) / 2,
            title: (piece: Piece) => `${piece.name}\nepoch ${piece.epoch}: ${show(piece.value)}`,
          }),
        ),
      ],
    }),
    table: () => ({
      heads: ["Epoch", ...names],
      rows: epochs.map((epoch) => [
        String(epoch),
        ...names.map((name) => show(totals.get(epoch)?.get(name) ?? 0)),
      ]),
    }),
  };
}

function biggest(parts: readonly Part[]): string[] {
  const totals = new Map<string, number>();
  for (const { name, value } of parts) totals.set(name, (totals.get(name) ?? 0) + value);
  const sorted = [...totals].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  return sorted.length <= mostNames ? sorted : [...sorted.slice(0, mostNames - 1), "other"];
}

function sumBy(parts: readonly Part[], names: string[]): Map<number, Map<string, number>> {
  const known = new Set(names);
  const totals = new Map<number, Map<string, number>>();
  for (const { epoch, name, value } of parts) {
    const row = totals.get(epoch) ?? new Map<string, number>();
    const under = known.has(name) ? name : "other";
    row.set(under, (row.get(under) ?? 0) + value);
    totals.set(epoch, row);
  }
  return totals;
}

function stack(epoch: number, names: string[], values: Map<string, number>): Piece[] {
  let y = 0;
  return names.flatMap((name) => {
    const value = values.get(name) ?? 0;
    if (value === 0) return [];
    y += value;
    return [{ epoch, name, value, x1: epoch - 0.4, x2: epoch + 0.4, y1: y - value, y2: y }];
  });
}
