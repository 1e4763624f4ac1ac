import type { ReportRun } from "../data.js";

/** A row of the ledger, put together from its columns. */
export interface TaskRow {
  run: ReportRun;
  place: number;
  epoch: number;
  id: string | null;
  source: string;
  parent: string | null;
  seeds: string[];
  writtenEpoch: number;
  prompt: string | null;
  groundTruth: string | null;
  answer: string | null;
  reason: string | null;
  successRate: number | null;
  responses: number;
  scored: number;
  reward: number | null;
  trained: boolean;
  kept: boolean;
  chunk: number;
}

export function rowsOf(run: ReportRun): TaskRow[] {
  const { tasks } = run;
  const text = (place: number | undefined): string | null => tasks.texts[place ?? -1] ?? null;
  return tasks.epoch.map((epoch, place) => ({
    run,
    place,
    epoch,
    id: tasks.id[place] ?? null,
    source: tasks.source[place] ?? "",
    parent: tasks.parent[place] ?? null,
    seeds: tasks.seedLists[tasks.seeds[place] ?? -1] ?? [],
    writtenEpoch: tasks.writtenEpoch[place] ?? 0,
    prompt: text(tasks.prompt[place]),
    groundTruth: text(tasks.groundTruth[place]),
    answer: text(tasks.answer[place]),
    reason: text(tasks.reason[place]),
    successRate: tasks.successRate[place] ?? null,
    responses: tasks.responses[place] ?? 0,
    scored: tasks.scored[place] ?? 0,
    reward: tasks.reward[place] ?? null,
    trained: tasks.trained[place] ?? false,
    kept: tasks.kept[place] ?? false,
    chunk: tasks.chunk[place] ?? -1,
  }));
}

export type Outcome = "kept" | "dropped" | "rejected" | "seed data";

/** What became of it, in a word. */
export function outcomeOf(row: TaskRow): Outcome {
  if (row.id === null) return "rejected";
  if (row.source !== "environment") return "seed data";
  return row.kept ? "kept" : "dropped";
}
