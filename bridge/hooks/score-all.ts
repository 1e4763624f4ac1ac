/** Scores rows with a reward in this process: same results and texts as the hook plane, no sockets. */

import { Op } from "../wire.js";
import { asyncPlan, withDefaultLimits } from "./limits.js";
import { asHook, describeHooks } from "./load.js";
import { runBatch } from "./local-runner.js";
import type { Limits } from "./messages.js";
import { hookName } from "./names.js";
import { parseTruth, scoreCall } from "./op-score.js";
import { guarded } from "./ops.js";
import { RowRunner } from "./row-runner.js";
import type { Grader, Message, RewardHook, RewardResult } from "./types.js";
import { score } from "./types.js";

/** A recorded response and what its reward may look at. */
export type ScoreRow = {
  response: string;
  groundTruth: unknown;
  taskId?: string;
  messages?: Message[];
  dataSource?: string | null;
  extra?: Record<string, unknown>;
};

/** A result a row, in order. A hook that loops for ever can't be stopped here: use a hook host for that. */
export async function scoreAll(
  reward: RewardHook | Grader,
  rows: readonly ScoreRow[],
  limits: Partial<Limits> = {},
): Promise<RewardResult[]> {
  const hook = asHook(reward, "reward", "the value given as a reward") as RewardHook;
  const own = { ...withDefaultLimits(limits), workers: 1 };
  const info = describeHooks({
    reward: hook,
    environment: null,
    curriculum: null,
    algorithms: null,
  });
  const name = hookName(Op.SCORE, info);
  const rowAt = (row: number): ScoreRow => rows[row] as ScoreRow;
  const taskId = (row: number): string => rowAt(row).taskId ?? `row-${row}`;
  const where = (row: number): { hook: string; sample: number; taskId: string } => ({
    hook: name,
    sample: row,
    taskId: taskId(row),
  });
  const inputs = {
    response: (row: number) => rowAt(row).response,
    taskId,
    groundTruth: (row: number) => parseTruth(hook, rowAt(row).groundTruth),
    used: hook.uses.length === 0 ? null : (row: number) => usedOf(hook, rowAt(row)),
  };
  const batch = { rows: rows.length, where, run: guarded(scoreCall(hook, inputs, where), where) };
  const concurrency = asyncPlan(Op.SCORE, info, own).share;
  const runner = new RowRunner({ timeoutMs: own.timeoutMs, concurrency });
  const results = await runBatch(batch, runner, own, null);
  return results.map((result) =>
    typeof result === "number" ? score(result) : (result as RewardResult),
  );
}

function usedOf(hook: RewardHook, row: ScoreRow): Record<string, unknown> {
  const all = {
    messages: row.messages ?? [],
    dataSource: row.dataSource ?? null,
    extra: row.extra ?? {},
  };
  return Object.fromEntries(hook.uses.map((column) => [column, all[column]]));
}
