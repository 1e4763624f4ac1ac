import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as Plot from "@observablehq/plot";
import { parseHTML } from "linkedom";
import type { Band } from "./sums.js";

type Curve = ({ epoch: number } & Record<string, number>)[];

/** What arms.py writes when an arm ends. */
export interface ArmResult {
  arm: string;
  seed: number;
  epochs: number;
  /** The agent's responses that were trained on or gave a success rate; not those that only measured. */
  rollouts: number;
  seconds: number;
  trainingSeconds: number;
  validation: Curve;
  environment: Curve;
  agent: Curve;
  gap: { epoch: number; tasks: number; gap: number; successRate: number; terms: number }[];
}

const bands: readonly Band[] = ["easy", "edge", "hard"];
const names: Record<string, string> = {
  start: "before training",
  static: "static data",
  frozen: "frozen environment model",
  rwr: "full, rwr",
  grpo: "full, grpo",
};

export function readResults(folder: string): ArmResult[] {
  if (!existsSync(folder)) return [];
  const order = Object.keys(names);
  return readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")) as ArmResult)
    .sort((x, y) => order.indexOf(x.arm) - order.indexOf(y.arm) || x.seed - y.seed);
}

const percent = (share: number | undefined): string =>
  share === undefined ? "–" : (100 * share).toFixed(1);
const mean = (values: readonly number[]): number | undefined =>
  values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length;

/** Success on all validation problems, and by band, after the last epoch. */
export function finalSuccess(result: ArmResult): Record<"all" | Band, number | undefined> {
  const last = result.validation.at(-1);
  const of = (name: string): number | undefined => last?.[`val/${name}`];
  return {
    all: of("success_rate"),
    easy: of("parts/easy"),
    edge: of("parts/edge"),
    hard: of("parts/hard"),
  };
}

/** Mean of a curve's values over a quarter of the epochs: the first, or the last. */
function quarter(curve: Curve, name: string, which: "first" | "last"): number | undefined {
  const epochs = Math.max(1, Math.round(curve.length / 4));
  const part = which === "first" ? curve.slice(0, epochs) : curve.slice(-epochs);
  return mean(part.flatMap((row) => (row[name] === undefined ? [] : [row[name]])));
}

/** The results as a Markdown table, a row for each arm and seed. */
export function toTable(results: readonly ArmResult[]): string {
  const heads = [
    "Arm",
    "Seed",
    "All %",
    ...bands.map((band) => `${band} %`),
    "mean \\|p̂ − α\\|, first → last",
    "R, first → last quarter",
    "valid tasks %, first → last quarter",
    "Rollouts",
    "Seconds",
  ];
  const rows = results.map((result) => {
    const success = finalSuccess(result);
    const { gap, environment } = result;
    const arrow = (curve: string, show: (value: number | undefined) => string): string =>
      environment.length === 0
        ? "–"
        : `${show(quarter(environment, curve, "first"))} → ${show(quarter(environment, curve, "last"))}`;
    const fixed = (value: number | undefined): string => value?.toFixed(2) ?? "–";
    return [
      names[result.arm] ?? result.arm,
      String(result.seed),
      percent(success.all),
      ...bands.map((band) => percent(success[band])),
      gap.length === 0 ? "–" : `${fixed(gap[0]?.gap)} → ${fixed(gap.at(-1)?.gap)}`,
      arrow("env/reward_mean", fixed),
      arrow("env/valid_rate", percent),
      String(result.rollouts),
      result.trainingSeconds.toFixed(0),
    ];
  });
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(heads), line(heads.map(() => "---")), ...rows.map(line)].join("\n");
}

/** How far the full arms are above the others in success on all problems, in points, for each seed. */
export function toMargins(results: readonly ArmResult[]): string {
  const success = (arm: string, seed: number): number | undefined => {
    const found = results.find((result) => result.arm === arm && result.seed === seed);
    return found && finalSuccess(found).all;
  };
  const seeds = [...new Set(results.map(({ seed }) => seed))].sort((x, y) => x - y);
  const rows = ["rwr", "grpo"].flatMap((full) =>
    ["static", "frozen"].map((other) => {
      const points = seeds.map((seed) => {
        const [mine, theirs] = [success(full, seed), success(other, seed)];
        return mine === undefined || theirs === undefined
          ? "–"
          : (100 * (mine - theirs)).toFixed(1);
      });
      return `| ${names[full]} over ${names[other]} | ${points.join(" | ")} |`;
    }),
  );
  const heads = ["Points", ...seeds.map((seed) => `seed ${seed}`)];
  return [`| ${heads.join(" | ")} |`, `| ${heads.map(() => "---").join(" | ")} |`, ...rows].join(
    "\n",
  );
}

interface Point {
  panel: string;
  arm: string;
  seed: number;
  epoch: number;
  value: number;
}

function toPoints(results: readonly ArmResult[]): Point[] {
  return results
    .filter(({ arm }) => arm !== "start")
    .flatMap((result) => {
      const at = { arm: names[result.arm] ?? result.arm, seed: result.seed };
      const start = results.find(({ arm }) => arm === "start")?.validation ?? [];
      const success = [...start, ...result.validation].map((row) => ({
        ...at,
        panel: "success on validation",
        epoch: row.epoch,
        value: row["val/success_rate"] ?? Number.NaN,
      }));
      const gap = result.gap.map((row) => ({
        ...at,
        panel: "mean |p̂ − α| of new tasks",
        epoch: row.epoch,
        value: row.gap,
      }));
      return [...success, ...gap];
    });
}

/** The curves as an SVG: a line for each arm and seed. */
export function toSvg(results: readonly ArmResult[]): string {
  const { document } = parseHTML("<html><body></body></html>");
  const points = toPoints(results);
  const arms = [...new Set(points.map(({ arm }) => arm))];
  const panels = [...new Set(points.map(({ panel }) => panel))];
  const chart = Plot.plot({
    document,
    width: 900,
    height: 380,
    marginLeft: 50,
    style: { background: "white", color: "black" },
    x: { label: "epoch" },
    y: { label: null, grid: true, domain: [0, 1] },
    fx: { label: null, domain: panels },
    color: { domain: arms, range: ["#777777", "#d08700", "#1f6fd0", "#138a5a"] },
    marks: [
      Plot.frame({ stroke: "#cccccc" }),
      Plot.lineY(points, {
        x: "epoch",
        y: "value",
        fx: "panel",
        stroke: "arm",
        z: ({ arm, seed }: Point) => `${arm} ${seed}`,
      }),
      Plot.dot(points, { x: "epoch", y: "value", fx: "panel", fill: "arm", r: 2.5 }),
      ...arms.map((arm, index) =>
        Plot.text([{ arm }], {
          fx: () => panels[0],
          frameAnchor: "top-left",
          dx: 8,
          dy: 8 + 14 * index,
          text: "arm",
          fill: "arm",
        }),
      ),
    ],
  });
  chart.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return `${chart.outerHTML}\n`;
}
