import type { ReportRun } from "../data.js";
import type { Chart } from "./figure.js";
import type { TaskRow } from "./rows.js";
import { type Part, stackedChart } from "./stacked.js";

/** What became of the environment's answers and tasks: kept, dropped or rejected, and why. */
export function reasonChart(rows: readonly TaskRow[], title: string): Chart | null {
  const parts = rows
    .filter((row) => row.source === "environment")
    .map((row) => ({ epoch: row.epoch, name: row.reason ?? "unknown", value: 1 }));
  const about = "Each task tried and each answer rejected, by the reason in the ledger.";
  return orNull(parts, { title, about, unit: "tasks" });
}

/** Responses that got no score: those that the reward failed on by code, and those it abstained from. */
export function failureChart(run: ReportRun, title: string): Chart | null {
  const parts = [
    ...partsUnder(run, "agent", "agent/failed/", "failed: "),
    ...partsUnder(run, "agent", "agent/abstained", "abstained"),
  ];
  const about =
    "Responses that the reward failed on, by code, or abstained from, in each epoch's batch.";
  return orNull(parts, { title, about, unit: "responses" });
}

const phases: Record<string, string> = {
  "timing_s/env_gen": "environment rollout",
  "timing_s/parse": "parse",
  "timing_s/gen": "agent rollout",
  "timing_s/reward": "reward",
  "timing_s/update_agent": "agent update",
  "timing_s/update_env": "environment update",
};

/** Seconds of each epoch by phase. */
export function timeChart(run: ReportRun, title: string): Chart | null {
  const parts = run.metrics.flatMap(({ epoch, values }) =>
    Object.entries(phases).flatMap(([key, name]) => {
      const value = values[key];
      return value === undefined ? [] : [{ epoch, name, value }];
    }),
  );
  return orNull(parts, { title, about: "Where each epoch's seconds went.", unit: "seconds" });
}

/** The numbers whose names begin with `prefix`, which `shown` takes the place of. */
function partsUnder(run: ReportRun, phase: string, prefix: string, shown: string): Part[] {
  return run.metrics
    .filter((metric) => metric.phase === phase)
    .flatMap(({ epoch, values }) =>
      Object.entries(values)
        .filter(([name]) => name.startsWith(prefix))
        .map(([name, value]) => ({ epoch, name: `${shown}${name.slice(prefix.length)}`, value })),
    );
}

function orNull(
  parts: readonly Part[],
  words: { title: string; about: string; unit: string },
): Chart | null {
  return parts.some(({ value }) => value > 0) ? stackedChart(parts, words) : null;
}
