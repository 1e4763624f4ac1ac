import { formatDuration } from "../../duration.js";
import type { ReportData, ReportRun } from "../data.js";
import { failureChart, reasonChart, timeChart } from "./breakdowns.js";
import { sizeChart, successHistogram } from "./curriculum.js";
import { curveFigures } from "./curves.js";
import { h, show } from "./dom.js";
import { type Chart, toFigure } from "./figure.js";
import { rowsOf, type TaskRow } from "./rows.js";
import { taskBrowser } from "./tasks.js";

function main(): void {
  const data = JSON.parse(document.getElementById("data")?.textContent ?? "") as ReportData;
  const rows = new Map(data.runs.map((run) => [run, rowsOf(run)]));
  const all = [...rows.values()].flat();
  const curves = curveFigures(data.runs);
  const curriculum = data.runs.flatMap((run) => curriculumOf(run, rows.get(run) ?? [], data));
  const reasons = data.runs.flatMap((run) => reasonsOf(run, rows.get(run) ?? [], data));
  const times = figures(
    data.runs.map((run) => timeChart(run, titleFor("Time by phase", run, data))),
  );
  const sections = [
    section("curves", "Curves", curves),
    section("curriculum", "Curriculum", curriculum),
    section("reasons", "Reasons", reasons),
    section("tasks", "Tasks", all.length > 0 ? [...leftOut(data), taskBrowser(all)] : []),
    section("time", "Time", times),
    section("config", "Configuration", data.runs.map(configOf)),
  ].filter((found) => found !== null);
  const links = sections.map((found) =>
    h("a", { href: `#${found.id}` }, found.querySelector("h2")?.textContent ?? ""),
  );
  document
    .getElementById("page")
    ?.append(
      h("a", { class: "skip", href: "#main" }, "Skip to the report"),
      h(
        "header",
        { class: "top" },
        h("h1", {}, data.runs.map((run) => run.name).join(" · ")),
        h("nav", { "aria-label": "sections" }, ...links),
      ),
      h(
        "main",
        { id: "main" },
        ...data.runs.map((run) => tilesOf(run, rows.get(run) ?? [], data)),
        ...sections,
      ),
      h(
        "footer",
        {},
        `genenv ${data.version}, written ${new Date(data.writtenMs).toISOString().slice(0, 16).replace("T", " ")} UTC. `,
        "Charts: Observable Plot and D3 (ISC licence).",
      ),
    );
}

function section(id: string, title: string, children: HTMLElement[]): HTMLElement | null {
  if (children.length === 0) return null;
  const isGrid = children[0]?.tagName === "FIGURE";
  return h(
    "section",
    { id, "aria-labelledby": `${id}-title` },
    h("h2", { id: `${id}-title` }, title),
    h("div", { class: isGrid ? "grid" : "" }, ...children),
  );
}

const titleFor = (title: string, run: ReportRun, { runs }: ReportData): string =>
  runs.length > 1 ? `${title}: ${run.name}` : title;

const figures = (charts: (Chart | null)[]): HTMLElement[] =>
  charts.flatMap((chart) => (chart ? [toFigure(chart)] : []));

function curriculumOf(run: ReportRun, rows: TaskRow[], data: ReportData): HTMLElement[] {
  return figures([
    successHistogram(rows, titleFor("Success rates of tasks", run, data)),
    sizeChart(rows, titleFor("Size of new tasks", run, data)),
  ]);
}

function reasonsOf(run: ReportRun, rows: TaskRow[], data: ReportData): HTMLElement[] {
  return figures([
    reasonChart(rows, titleFor("Answers and tasks", run, data)),
    failureChart(run, titleFor("Responses without a score", run, data)),
  ]);
}

function leftOut({ runs }: ReportData): HTMLElement[] {
  return runs
    .filter((run) => run.rolloutsLeftOut > 0)
    .map((run) =>
      h(
        "p",
        {},
        `${show(run.rolloutsLeftOut)} rollouts of ${run.name} have no room in this file; ` +
          "they are in rollouts/ of the run's folder.",
      ),
    );
}

/** The run in a few numbers. */
function tilesOf(run: ReportRun, rows: TaskRow[], data: ReportData): HTMLElement {
  const last = (phase: string, name: string): number | undefined =>
    run.metrics.filter((metric) => metric.phase === phase && name in metric.values).at(-1)?.values[
      name
    ];
  const first = run.metrics.find((metric) => metric.phase === "validation")?.values[
    "val/success_rate"
  ];
  const epochs = run.metrics.reduce((high, { epoch }) => Math.max(high, epoch), 0);
  const ms = (run.metrics.at(-1)?.timeMs ?? 0) - (run.metrics[0]?.timeMs ?? 0);
  const written = rows.filter((row) => row.source === "environment" && row.id !== null);
  const kept = new Set(written.filter((row) => row.kept).map((row) => row.id)).size;
  const tiles: [string, string][] = [
    ["epochs", show(epochs)],
    ["validation success", `${show(first)} → ${show(last("validation", "val/success_rate"))}`],
    ["agent success", show(last("agent", "agent/success_rate"))],
    ["environment reward", show(last("environment", "env/reward_mean"))],
    ["tasks written", show(new Set(written.map((row) => row.id)).size)],
    ["kept", show(kept)],
    ["time", formatDuration(ms)],
  ];
  return h(
    "section",
    { class: "summary", "aria-label": `run ${run.name} in numbers` },
    data.runs.length > 1 ? h("h2", {}, run.name) : null,
    h(
      "dl",
      { class: "tiles" },
      ...tiles.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
    ),
  );
}

function configOf(run: ReportRun): HTMLElement {
  return h(
    "details",
    {},
    h("summary", {}, `config.yaml of ${run.name}`),
    h("pre", { tabindex: 0 }, run.configText || "(none yet)"),
  );
}

main();
