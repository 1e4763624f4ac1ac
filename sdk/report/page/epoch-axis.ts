import type { ScaleOptions } from "@observablehq/plot";

/** An axis of whole epochs; `pad` leaves room for bars at both ends. */
export function epochAxis(epochs: readonly number[], width: number, pad = 0): ScaleOptions {
  const first = epochs.reduce((low, epoch) => Math.min(low, epoch), Number.POSITIVE_INFINITY);
  const last = epochs.reduce((high, epoch) => Math.max(high, epoch), Number.NEGATIVE_INFINITY);
  if (!Number.isFinite(first)) return { label: "epoch", domain: [0, 1], ticks: [] };
  const span = last - first;
  const most = Math.max(2, Math.floor(width / 48));
  const step = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2500, 5000].find(
    (size) => span / size < most,
  );
  const ticks: number[] = [];
  const by = step ?? 10_000;
  for (let tick = Math.ceil(first / by) * by; tick <= last; tick += by) ticks.push(tick);
  const edge = span === 0 ? Math.max(pad, 0.5) : pad;
  return {
    label: "epoch",
    labelArrow: "none",
    labelOffset: 34,
    domain: [first - edge, last + edge],
    ticks,
    tickFormat: (tick: number) => String(tick),
  };
}
