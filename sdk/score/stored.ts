import type { RewardResult } from "../../bridge/hooks/types.js";
import { abstain, type FailureCode, score } from "../../bridge/hooks/types.js";
import { toMessages } from "../data/row.js";
import type { LoadedRun, RunRollout } from "../load-run.js";
import type { ScoreCase } from "./cases.js";

/** The agent's stored responses of a run as cases, each with the result it had. */
export async function* storedCases(run: LoadedRun): AsyncGenerator<ScoreCase> {
  for await (const rollout of run.rollouts()) {
    if (rollout.role === "agent") yield toCase(rollout);
  }
}

function toCase(rollout: RunRollout): ScoreCase {
  const messages = toMessages(JSON.parse(rollout.prompt));
  return {
    response: rollout.response,
    groundTruth: rollout.groundTruth === null ? null : JSON.parse(rollout.groundTruth),
    messages: typeof messages === "string" ? [] : messages,
    taskId: rollout.task,
    dataSource: rollout.dataSource,
    extra: rollout.extra === null ? {} : JSON.parse(rollout.extra),
    before: resultOf(rollout),
  };
}

function resultOf({ score: value, success, metrics, failure, reason }: RunRollout): RewardResult {
  // A failure that `on_failure: zero` made a 0 of is still one.
  if (failure !== null) {
    return { kind: "failed", code: failure as FailureCode, reason: reason ?? "" };
  }
  return value === null ? abstain(reason ?? "") : score(value, { success, metrics });
}
