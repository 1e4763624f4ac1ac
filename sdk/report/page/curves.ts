import { crosshairX, dot, lineY, type PlotOptions, pointer, ruleY, tip } from "@observablehq/plot";
import type { ReportRun } from "../data.js";
import { colorAt } from "./colors.js";
import { field, h, show } from "./dom.js";
import { epochAxis } from "./epoch-axis.js";
import { type Chart, redraw, toFigure } from "./figure.js";

interface Point {
  run: string;
  epoch: number;
  value: number;
}

interface Curve {
  title: string;
  about: string;
  phase: string;
  name: string;
  /** Between 0 and 1, whatever the values are. */
  share?: boolean;
}

const curves: Curve[] = [
  {
    title: "Agent: success rate",
    about: "Successes over scored responses in each epoch's batch.",
    phase: "agent",
    name: "agent/success_rate",
    share: true,
  },
  {
    title: "Agent: reward",
    about: "Mean score of the batch's responses.",
    phase: "agent",
    name: "agent/reward_mean",
  },
  {
    title: "Validation: success rate",
    about: "On held-out tasks, which never change.",
    phase: "validation",
    name: "val/success_rate",
    share: true,
  },
  {
    title: "Environment: reward",
    about: "Mean R of its answers: 1 where the agent succeeds at the target rate.",
    phase: "environment",
    name: "env/reward_mean",
    share: true,
  },
  {
    title: "Environment: valid answers",
    about: "Share of its answers that hold a task.",
    phase: "environment",
    name: "env/valid_rate",
    share: true,
  },
];

/** The curves of all runs, those that have points. */
export function curveFigures(runs: readonly ReportRun[]): HTMLElement[] {
  const known = curves.flatMap((curve) => {
    const points = pointsOf(runs, curve.phase, curve.name);
    return points.length > 0 ? [toFigure(curveChart(runs, curve, points))] : [];
  });
  const any = anyMetric(runs);
  return any ? [...known, any] : known;
}

function pointsOf(runs: readonly ReportRun[], phase: string, name: string): Point[] {
  return runs.flatMap((run) =>
    run.metrics.flatMap(({ phase: of, epoch, values }) => {
      const value = values[name];
      return of === phase && value !== undefined ? [{ run: run.name, epoch, value }] : [];
    }),
  );
}

function curveChart(
  runs: readonly ReportRun[],
  { title, about, share }: Curve,
  points: Point[],
): Chart {
  const names = runs.map((run) => run.name);
  return {
    title,
    about,
    legend: legendOf(names),
    options: (width) => curveOptions(points, names, share === true, width),
    table: () => byEpoch(points, names),
  };
}

function curveOptions(
  points: Point[],
  names: string[],
  share: boolean,
  width: number,
): PlotOptions {
  const of = { x: "epoch", y: "value", z: "run", stroke: "run" } as const;
  const few = points.length / names.length <= 40;
  return {
    x: epochAxis(
      points.map(({ epoch }) => epoch),
      width,
    ),
    y: { grid: true, label: null, ...(share ? { domain: [0, 1] } : { nice: true }) },
    color: { domain: names, range: names.map((_, place) => colorAt(place)) },
    marks: [
      ruleY([0], { strokeOpacity: 0.3 }),
      lineY(points, { ...of, strokeWidth: 2, curve: "linear" }),
      ...(few ? [dot(points, { x: "epoch", y: "value", fill: "run", r: 3 })] : []),
      crosshairX(points, { x: "epoch", y: "value", textFill: "currentColor", textStroke: "none" }),
      tip(
        points,
        pointer({
          x: "epoch",
          y: "value",
          title: (point: Point) => `${point.run}\nepoch ${point.epoch}: ${show(point.value)}`,
        }),
      ),
    ],
  };
}

function byEpoch(points: Point[], names: string[]): { heads: string[]; rows: string[][] } {
  const epochs = [...new Set(points.map(({ epoch }) => epoch))].sort((a, b) => a - b);
  const values = new Map(points.map(({ run, epoch, value }) => [`${epoch} ${run}`, value]));
  return {
    heads: ["Epoch", ...names],
    rows: epochs.map((epoch) => [
      String(epoch),
      ...names.map((name) => show(values.get(`${epoch} ${name}`))),
    ]),
  };
}

/** A chart of whichever metric is chosen, veRL's own included. */
function anyMetric(runs: readonly ReportRun[]): HTMLElement | null {
  const keys = new Set<string>();
  for (const run of runs) {
    for (const { phase, values } of run.metrics) {
      for (const name of Object.keys(values)) keys.add(`${phase}: ${name}`);
    }
  }
  const sorted = [...keys].sort();
  const first = sorted.find((key) => key.includes("actor/grad_norm")) ?? sorted[0];
  if (!first) return null;
  let chosen = first;
  const select = h(
    "select",
    {
      change: () => {
        chosen = select.value;
        redraw(figure, chart);
      },
    },
    ...sorted.map((key) => h("option", { value: key, selected: key === first }, key)),
  );
  const points = (): Point[] => {
    const [phase = "", name = ""] = chosen.split(": ");
    return pointsOf(runs, phase, name);
  };
  const names = runs.map((run) => run.name);
  const chart: Chart = {
    title: "Any metric",
    about: "All of metrics.jsonl, with what veRL measures.",
    legend: legendOf(names),
    controls: field("Metric", select),
    options: (width) => curveOptions(points(), names, false, width),
    table: () => byEpoch(points(), names),
  };
  const figure = toFigure(chart);
  return figure;
}

/** A single line needs none. */
const legendOf = (names: readonly string[]): Chart["legend"] =>
  names.length > 1 ? names.map((label, place) => ({ label, color: colorAt(place) })) : undefined;
