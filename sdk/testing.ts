/** For a project's own tests of its rewards: no sockets, the same results and texts as in a run. */
import { type ScoreRow, scoreAll } from "../bridge/hooks/score-all.js";
import type { Grader, RewardHook, RewardResult } from "../bridge/hooks/types.js";

/** A recorded response, and what its reward should say about it. */
export type RewardCase = ScoreRow & {
  /** Shown where the case fails; by default the response's beginning. */
  name?: string;
  /** The value, or "abstain", or "failed". Left out: the case is only run. */
  expected?: number | "abstain" | "failed";
};

export type TestRewardOptions = {
  /** Deadline of a sample of an async reward. */
  timeoutMs?: number;
  /** How far a value may be from the expected one. */
  tolerance?: number;
};

/**
 * Scores the cases and returns a result for each; throws an Error that lists the cases whose `expected` isn't met.
 * A synchronous endless loop isn't cut short here: that takes the worker of a real run, or the test runner's own limit.
 */
export async function testReward(
  reward: RewardHook | Grader,
  cases: readonly RewardCase[],
  { timeoutMs = 10_000, tolerance = 1e-9 }: TestRewardOptions = {},
): Promise<RewardResult[]> {
  const results = await scoreAll(reward, cases, { timeoutMs });
  const wrong = cases.flatMap((each, row) => {
    const result = results[row] as RewardResult;
    return isMet(each.expected, result, tolerance) ? [] : [problem(each, row, result)];
  });
  if (wrong.length === 0) return results;
  throw new Error(`${wrong.length} of ${cases.length} cases failed:\n${wrong.join("\n")}`);
}

function isMet(expected: RewardCase["expected"], result: RewardResult, tolerance: number): boolean {
  if (expected === undefined) return true;
  if (typeof expected === "string") return result.kind === expected;
  return result.kind === "score" && Math.abs(result.value - expected) <= tolerance;
}

function problem(each: RewardCase, row: number, result: RewardResult): string {
  const name = each.name ?? JSON.stringify(each.response.slice(0, 60));
  const got = result.kind === "score" ? String(result.value) : `${result.kind} (${result.reason})`;
  return `  case ${row} ${name}: expected ${each.expected}, got ${got}`;
}
