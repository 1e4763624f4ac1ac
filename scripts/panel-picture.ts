/** Draws the live panel of a run, as a terminal shows it, as an SVG: npm run docs:panel -- RUN EPOCH FILE.svg */
import { writeFileSync } from "node:fs";
import { newLive, trackLive } from "../sdk/cli/live-state.js";
import { formatPanel } from "../sdk/cli/live-text.js";
import { formatEvent } from "../sdk/cli/progress-text.js";
import { loadRun, type RunMetric, type RunTask } from "../sdk/load-run.js";
import { escapeHtml } from "../sdk/notebook/html.js";
import type { RunEvent } from "../sdk/run/events.js";

const columns = 128;
const [cellPx, linePx, marginPx] = [8.4, 19, 16];
const colors: Record<string, string> = { "32": "#3fb950", "33": "#d29922" };

interface Span {
  text: string;
  style: string;
}

/** A line with its terminal codes as pieces of one style each; only the panel's own codes are known. */
function toSpans(line: string): Span[] {
  const spans: Span[] = [];
  let [weight, opacity, color] = ["", "", ""];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal's codes begin with one
  for (const [, code, text = ""] of line.matchAll(/(?:\u001b\[(\d+)m)?([^\u001b]*)/g)) {
    if (code === "1") weight = "font-weight:bold;";
    if (code === "2") opacity = "opacity:.6;";
    if (code === "22") [weight, opacity] = ["", ""];
    if (code !== undefined && code in colors) color = `fill:${colors[code]};`;
    if (code === "39") color = "";
    if (text !== "") spans.push({ text, style: `${weight}${opacity}${color}` });
  }
  return spans;
}

function toSvg(lines: readonly string[]): string {
  const width = Math.ceil(columns * cellPx + 2 * marginPx);
  const height = lines.length * linePx + 2 * marginPx;
  const rows = lines.map((line, row) => {
    const spans = toSpans(line).map(
      // Blanks that no viewer takes together.
      ({ text, style }) =>
        `<tspan style="${style}">${escapeHtml(text).replaceAll(" ", "\u00a0")}</tspan>`,
    );
    return `<text x="${marginPx}" y="${marginPx + (row + 0.75) * linePx}">${spans.join("")}</text>`;
  });
  const font = "14px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace";
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="The live panel of a run in a terminal"><rect width="100%" height="100%" rx="8" fill="#0d1117"/><g style="font:${font}" fill="#e6edf3">${rows.join("")}</g></svg>\n`;
}

const toMetrics = ({ epoch, step, phase, values }: RunMetric): RunEvent => ({
  type: "metrics",
  epoch,
  step,
  phase: phase as "agent" | "environment" | "validation",
  values,
});

const toTask = ({ epoch, task, ...row }: RunTask): RunEvent => ({
  type: "task",
  epoch,
  step: epoch,
  id: task ?? "",
  prompt: row.prompt,
  groundTruth: row.groundTruth === null ? null : JSON.parse(row.groundTruth),
  successRate: row.successRate,
  reward: row.reward,
  kept: row.kept,
  reason: row.reason,
});

const phase = (epoch: number, name: "agent-rollout" | "epoch-end"): RunEvent => ({
  type: "phase",
  epoch,
  step: epoch,
  phase: name,
  role: null,
  detail: null,
});

async function main([name = "", until = "", file = ""]: string[]): Promise<void> {
  const run = await loadRun(name);
  const last = Number(until);
  const startMs = run.metrics[0]?.timeMs ?? 0;
  const { trainer } = run.config as { trainer: { total_epochs: number } };
  let state = newLive(trainer.total_epochs, startMs);
  let nowMs = startMs;
  const above: string[] = [`$ npx genenv run --name ${run.name}`];
  const take = (event: RunEvent): void => {
    state = trackLive(state, event, nowMs);
    const line = formatEvent(event, state.progress, nowMs);
    if (line !== null) above.push(line.slice(0, columns));
  };
  for (let epoch = 0; epoch <= last; epoch++) {
    const own = run.metrics.filter((metric) => metric.epoch === epoch);
    if (epoch > 0) take(phase(epoch, "agent-rollout"));
    for (const task of run.tasks)
      if (task.epoch === epoch && task.task !== null) take(toTask(task));
    nowMs = Math.max(nowMs, ...own.map((metric) => metric.timeMs));
    for (const metric of own) take(toMetrics(metric));
    if (epoch > 0) take(phase(epoch, "epoch-end"));
  }
  take(phase(last + 1, "agent-rollout"));
  const panel = formatPanel(state, nowMs + 1000, columns).split("\n");
  writeFileSync(file, toSvg([...above, ...panel]));
}

await main(process.argv.slice(2));
