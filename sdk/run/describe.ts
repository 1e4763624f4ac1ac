import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { verlDefault } from "../config/keys.js";
import { getAt, type Tree } from "../config/tree.js";
import type { RunPlace } from "../find-run.js";
import { type RunMetric, readMetrics } from "../load-run.js";
import { lockHolder } from "./lock.js";

export interface RunDescription {
  name: string;
  /** Absolute. */
  dir: string;
  /** "ended": it is over, or its process died, before its last epoch. */
  state: "running" | "done" | "ended";
  /** The process at work; null where there is none. */
  pid: number | null;
  host: string | null;
  /** Whole epochs. */
  epoch: number;
  totalEpochs: number;
  /** Of the last validation, else of the last batch; null before the first. */
  success: number | null;
  agentReward: number | null;
  environmentReward: number | null;
  /** When it last wrote a metric; null before that. */
  lastMs: number | null;
}

/** How a run stands, from its folder alone. */
export function describeRun({ name, dir }: RunPlace): RunDescription {
  const metrics = readMetrics(join(dir, "metrics.jsonl"));
  const holder = lockHolder(dir);
  const totalEpochs = totalEpochsOf(join(dir, "config.yaml"));
  const epoch = metrics
    .filter(({ phase }) => phase === "agent")
    .reduce((high, metric) => Math.max(high, metric.epoch), 0);
  const over = epoch >= totalEpochs ? "done" : "ended";
  return {
    name,
    dir,
    state: holder ? "running" : over,
    pid: holder?.pid ?? null,
    host: holder?.host ?? null,
    epoch,
    totalEpochs,
    success: lastOf(metrics, "val/success_rate") ?? lastOf(metrics, "agent/success_rate"),
    agentReward: lastOf(metrics, "agent/reward_mean"),
    environmentReward: lastOf(metrics, "env/reward_mean"),
    lastMs: metrics.at(-1)?.timeMs ?? null,
  };
}

function lastOf(metrics: readonly RunMetric[], name: string): number | null {
  return metrics.filter(({ values }) => name in values).at(-1)?.values[name] ?? null;
}

function totalEpochsOf(file: string): number {
  const tree = existsSync(file) ? ((parse(readFileSync(file, "utf8")) ?? {}) as Tree) : {};
  return Number(getAt(tree, ["trainer", "total_epochs"]) ?? verlDefault("trainer.total_epochs"));
}
