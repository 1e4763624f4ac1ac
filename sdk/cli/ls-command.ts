import { formatDuration } from "../duration.js";
import { findRun, listRuns } from "../find-run.js";
import { describeRun, type RunDescription } from "../run/describe.js";
import { exitCode } from "./exit.js";
import type { Output } from "./progress.js";

interface Streams {
  output: Output;
  cwd?: string;
  now?: () => number;
}

/** `genenv ls`: a line a run. */
export async function lsCommand(
  { json = false }: { json?: boolean },
  { output, cwd, now = Date.now }: Streams,
): Promise<number> {
  const runs = listRuns(cwd).map(describeRun);
  if (json) output.write(`${JSON.stringify(runs)}\n`);
  else if (runs.length === 0) output.write("no runs yet: genenv run starts one\n");
  else output.write(toTable([heads, ...runs.map((run) => toCells(run, now()))]));
  return exitCode.done;
}

/** `genenv status`: one run, in a few lines. */
export async function statusCommand(
  name: string | null,
  { json = false }: { json?: boolean },
  { output, cwd, now = Date.now }: Streams,
): Promise<number> {
  const run = name === null ? newest(cwd) : describeRun(findRun(name, cwd));
  if (json) output.write(`${JSON.stringify(run)}\n`);
  else if (run === null) output.write("no runs yet: genenv run starts one\n");
  else output.write(toStatus(run, now()));
  return exitCode.done;
}

/** The run under way, else the one that wrote last. */
function newest(cwd?: string): RunDescription | null {
  const runs = listRuns(cwd).map(describeRun);
  const rank = (run: RunDescription): number =>
    run.state === "running" ? Number.MAX_VALUE : (run.lastMs ?? 0);
  return runs.reduce<RunDescription | null>(
    (best, run) => (best === null || rank(run) > rank(best) ? run : best),
    null,
  );
}

const heads = ["NAME", "STATE", "EPOCH", "SUCCESS", "LAST"];

function toCells(run: RunDescription, nowMs: number): string[] {
  return [
    run.name,
    run.state,
    `${run.epoch}/${run.totalEpochs}`,
    share(run.success),
    run.lastMs === null ? "–" : `${formatDuration(nowMs - run.lastMs)} ago`,
  ];
}

function toStatus(run: RunDescription, nowMs: number): string {
  const [, , epoch = "", success = "", last = ""] = toCells(run, nowMs);
  const process = run.pid === null ? "" : ` (process ${run.pid} on ${run.host})`;
  return [
    `${run.name}: ${run.state}${process}`,
    `  folder       ${run.dir}`,
    `  epoch        ${epoch}`,
    `  success      ${success}`,
    `  rewards      agent ${share(run.agentReward)}, environment ${share(run.environmentReward)}`,
    `  last metric  ${last}`,
    "",
  ].join("\n");
}

const share = (value: number | null): string => (value === null ? "–" : value.toFixed(3));

function toTable(rows: string[][]): string {
  const widths = heads.map((_, place) => Math.max(...rows.map((row) => row[place]?.length ?? 0)));
  const line = (row: string[]): string =>
    row.map((cell, place) => cell.padEnd(widths[place] ?? 0)).join("  ");
  return rows.map((row) => `${line(row).trimEnd()}\n`).join("");
}
