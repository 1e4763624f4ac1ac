/** What each op of the hook plane does to one row of its batch. Pure but for the user's own code. */
import { readTextBatch, type TextBatch } from "../arrow-read.js";
import { badFrame, Op } from "../wire.js";
import { readParams, whereOf } from "./columns.js";
import { describeHooks } from "./load.js";
import { hookName } from "./names.js";
import { alphaCall, selectCall } from "./op-curriculum.js";
import { parseCall, promptCall } from "./op-environment.js";
import { labelCall } from "./op-label.js";
import { batchScoreInputs, scoreCall } from "./op-score.js";
import { threw, type Where } from "./result.js";
import type { CurriculumHook, EnvironmentHook, RewardHook, RewardResult } from "./types.js";

/** The reward of one environment answer from its tasks' success rates; null leaves it out of the update. */
export type AnswerReward = (
  successRates: (number | null)[],
  alpha: number,
  beta: number,
) => number | null;

/** A vote of answers, null for a response without one: the label, null where too few agree, and the share that agrees. */
export type MajorityLabel = (
  answers: (string | null)[],
  minAgreement: number,
) => { label: string | null; agreement: number };

/** The loop's formulas. */
export type Algorithms = { answerReward: AnswerReward; majorityLabel: MajorityLabel };

/** The hooks of a run; null where the run has none of that kind. */
export type Hooks = {
  reward: RewardHook | null;
  environment: EnvironmentHook | null;
  curriculum: CurriculumHook | null;
  algorithms: Algorithms | null;
};

export type JsonResult = { kind: "json"; json: string };
/** A number is a plain score. */
export type RowResult = number | RewardResult | JsonResult;

/** A decoded batch, ready to run row by row. */
export type OpBatch = {
  rows: number;
  where(row: number): Where;
  /** Runs the user's code for a row; never throws, and returns a promise only when the user's code does. */
  run(row: number, signal: AbortSignal): RowResult | Promise<RowResult>;
};

export type RowCall = (row: number, signal: AbortSignal) => RowResult | Promise<RowResult>;

export function openBatch(op: Op, payload: Uint8Array, hooks: Hooks): OpBatch {
  const batch = readTextBatch(payload);
  const where = whereOf(hookName(op, describeHooks(hooks)), batch);
  return { rows: batch.rows, where, run: guarded(rowCall(op, batch, hooks, where), where) };
}

/** A row's call whose every error becomes that row's failure. */
export function guarded(call: RowCall, where: (row: number) => Where): RowCall {
  return (row, signal) => {
    try {
      const result = call(row, signal);
      if (!(result instanceof Promise)) return result;
      return result.catch((error: unknown) => threw(error, where(row)));
    } catch (error) {
      return threw(error, where(row));
    }
  };
}

function rowCall(op: Op, batch: TextBatch, hooks: Hooks, where: (row: number) => Where): RowCall {
  const params = readParams(batch);
  const { reward, environment, curriculum, algorithms } = hooks;
  if (op === Op.SCORE && reward) return scoreCall(reward, batchScoreInputs(reward, batch), where);
  if (op === Op.PROMPTS && environment) return promptCall(environment, batch, params, where);
  if (op === Op.PARSE && environment) return parseCall(environment, batch, where);
  if (op === Op.SELECT && curriculum) return selectCall(curriculum, batch, params, where);
  if (op === Op.ALPHA && algorithms)
    return alphaCall(algorithms.answerReward, batch, params, where);
  if (op === Op.LABEL && algorithms && reward?.extract) {
    return labelCall(reward, reward.extract, algorithms.majorityLabel, batch, params, where);
  }
  throw badFrame(`asks for op ${op}, and this host has no hook for it`);
}
