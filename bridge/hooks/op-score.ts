/** Scores the rows of a batch with a reward hook. */
import { z } from "zod";
import type { TextBatch } from "../arrow-read.js";
import { badFrame, Column } from "../wire.js";
import { firstIssue, jsonOf, parseJson, textOf } from "./columns.js";
import type { RowCall } from "./ops.js";
import { failed, showValue, toRewardResult, type Where } from "./result.js";
import { isThenable } from "./settle.js";
import type { RewardHook } from "./types.js";

/** A batch's inputs by row, wherever they come from. */
export type ScoreInputs = {
  response(row: number): string;
  taskId(row: number): string;
  groundTruth(row: number): ParsedTruth;
  /** The columns that the hook uses; null when it uses none. */
  used: ((row: number) => Record<string, unknown>) | null;
};

export function scoreCall(
  hook: RewardHook,
  inputs: ScoreInputs,
  where: (row: number) => Where,
): RowCall {
  const { response, taskId, groundTruth, used } = inputs;
  return (row, signal) => {
    const truth = groundTruth(row);
    if (!truth.success)
      return failed("threw", `the ground truth of ${describeTruth(where(row))}: ${truth.reason}`);
    const input = {
      response: response(row),
      groundTruth: truth.data,
      taskId: taskId(row),
      signal,
    };
    if (used !== null) Object.assign(input, used(row));
    const returned = hook.score(input as never);
    if (isThenable(returned)) {
      return Promise.resolve(returned).then((value) => toRewardResult(value, where(row)));
    }
    if (typeof returned === "number" && Number.isFinite(returned)) return returned;
    return toRewardResult(returned, where(row));
  };
}

/** The inputs in a request's batch. */
export function batchScoreInputs(hook: RewardHook, batch: TextBatch): ScoreInputs {
  return {
    response: textOf(batch, Column.RESPONSE),
    taskId: textOf(batch, Column.TASK_ID),
    groundTruth: groundTruthOf(hook, batch),
    used: usedColumns(hook, batch),
  };
}

function describeTruth(where: Where): string {
  return `task ${where.taskId ?? "?"} doesn't fit the schema of ${where.hook}`;
}

export type ParsedTruth = { success: true; data: unknown } | { success: false; reason: string };

/** Ground truths through the hook's schema; equal strings that parse to a primitive are parsed once. */
function groundTruthOf(hook: RewardHook, batch: TextBatch): (row: number) => ParsedTruth {
  const isText = batch.columns.has(Column.GROUND_TRUTH_TEXT);
  const text = textOf(batch, isText ? Column.GROUND_TRUTH_TEXT : Column.GROUND_TRUTH);
  const known = new Map<string, ParsedTruth>();
  return (row) => {
    const raw = text(row);
    const before = known.get(raw);
    if (before !== undefined) return before;
    const parsed = parseTruth(hook, isText ? raw : parseJson(raw, Column.GROUND_TRUTH));
    // Objects are made anew for each sample: a hook that changes one must not change its neighbours'.
    if (!parsed.success || typeof parsed.data !== "object" || parsed.data === null) {
      known.set(raw, parsed);
    }
    return parsed;
  };
}

export function parseTruth(hook: RewardHook, value: unknown): ParsedTruth {
  const parsed = z.safeParse(hook.groundTruth, value);
  if (parsed.success) return { success: true, data: parsed.data };
  return { success: false, reason: `${firstIssue(parsed.error)} (got ${showValue(value)})` };
}

function usedColumns(
  hook: RewardHook,
  batch: TextBatch,
): ((row: number) => Record<string, unknown>) | null {
  if (hook.uses.length === 0) return null;
  const messages = hook.uses.includes("messages") ? jsonOf(batch, Column.MESSAGES) : null;
  const extra = hook.uses.includes("extra") ? jsonOf(batch, Column.EXTRA) : null;
  const source = hook.uses.includes("dataSource")
    ? batch.columns.get(Column.DATA_SOURCE)
    : undefined;
  if (hook.uses.includes("dataSource") && source === undefined) {
    throw badFrame(`misses the column "${Column.DATA_SOURCE}"`);
  }
  return (row) => ({
    ...(messages === null ? {} : { messages: messages(row) }),
    ...(extra === null ? {} : { extra: extra(row) }),
    ...(source === undefined ? {} : { dataSource: source.get(row) }),
  });
}
