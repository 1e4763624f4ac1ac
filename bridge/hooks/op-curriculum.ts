/** The curriculum's two ops: which tasks join the pool, and what an environment answer earned. */
import { z } from "zod";
import type { TextBatch } from "../arrow-read.js";
import { Column } from "../wire.js";
import { firstIssue, jsonOf, type Params } from "./columns.js";
import { toWireJson } from "./json.js";
import { messagesSchema } from "./op-environment.js";
import type { AnswerReward, RowCall } from "./ops.js";
import { failed, showValue, type Where } from "./result.js";
import { settle } from "./settle.js";
import type { CurriculumHook } from "./types.js";

const selectParams = z.object({
  targetSuccess: z.number(),
  filteringK: z.number(),
  filteringMode: z.enum(["band", "quantile"]),
  epoch: z.int(),
});

export function selectCall(
  hook: CurriculumHook,
  batch: TextBatch,
  params: Params,
  where: (row: number) => Where,
): RowCall {
  const settings = selectParams.parse(params);
  const tasksJson = jsonOf(batch, Column.TASKS);
  return (row) => {
    const tasks = wireTasks.parse(tasksJson(row)) as Parameters<
      CurriculumHook["select"]
    >[0]["tasks"];
    const returned = hook.select({ tasks, ...settings });
    return settle(returned, (decisions) => {
      const problem = decisionProblem(decisions, new Set(tasks.map((task) => task.id)));
      if (problem === null) return { kind: "json", json: toWireJson(decisions) } as const;
      return failed("bad-result", `${where(row).hook} ${problem}`);
    });
  };
}
const wireTasks = z.array(
  z.object({
    id: z.string(),
    prompt: z.union([z.string(), messagesSchema]),
    groundTruth: z.unknown(),
    successRate: z.number().nullable(),
    reward: z.number().nullable(),
  }),
);
const decisionSchema = z.object({
  id: z.string(),
  keep: z.boolean(),
  weight: z.number().nonnegative(),
  reason: z.string(),
});

/** What is wrong with a curriculum's decisions, or null. */
export function decisionProblem(returned: unknown, ids: Set<string>): string | null {
  if (!Array.isArray(returned))
    return `returned ${showValue(returned)}; return a decision for each task`;
  const seen = new Set<string>();
  for (const [index, entry] of returned.entries()) {
    const decision = decisionSchema.safeParse(entry);
    if (!decision.success) {
      const { id } = (entry ?? {}) as { id?: unknown };
      const about = typeof id === "string" ? `task ${id}` : `decision ${index}`;
      return `returned a bad decision for ${about}: ${firstIssue(decision.error)}`;
    }
    if (!ids.has(decision.data.id)) return `decided about the unknown task ${decision.data.id}`;
    if (seen.has(decision.data.id)) return `decided twice about task ${decision.data.id}`;
    seen.add(decision.data.id);
  }
  const missing = [...ids].filter((id) => !seen.has(id));
  if (missing.length === 0) return null;
  return `decided nothing about ${missing.length} of ${ids.size} tasks (${missing.slice(0, 3).join(", ")})`;
}

const alphaParams = z.object({ alpha: z.number(), beta: z.number() });
const wireRates = z.array(z.number().min(0).max(1).nullable());

export function alphaCall(
  answerReward: AnswerReward,
  batch: TextBatch,
  params: Params,
  where: (row: number) => Where,
): RowCall {
  const { alpha, beta } = alphaParams.parse(params);
  const rates = jsonOf(batch, Column.SUCCESS_RATES);
  return (row) => {
    const reward: unknown = answerReward(wireRates.parse(rates(row)), alpha, beta);
    if (reward === null || (typeof reward === "number" && Number.isFinite(reward))) {
      return { kind: "json", json: toWireJson(reward) };
    }
    return failed(
      "bad-result",
      `${where(row).hook} returned ${showValue(reward)} for answer ${row}`,
    );
  };
}
