import { resolve } from "node:path";
import { z } from "zod";
import { ConfigError } from "../../bridge/errors.js";
import type { Grader, RewardHook } from "../../bridge/hooks/types.js";
import type { RowProblem } from "./row.js";

/** What is wrong with a row's ground truth in a reward's eyes; null: nothing. */
export type TruthCheck = (groundTruth: unknown, column: string, row: number) => RowProblem | null;

/** The check by a reward as a configuration names it; throws HookError or ConfigError where there is no such reward. */
export async function loadTruthCheck(reward: string, cwd: string): Promise<TruthCheck> {
  const isBuiltin = reward.startsWith("builtin:");
  const hook = isBuiltin ? await loadGrader(reward) : await loadFile(resolve(cwd, reward), cwd);
  return (groundTruth, column, row) => {
    const problem =
      schemaProblem(hook, groundTruth) ?? (isBuiltin ? emptyTruth(hook, groundTruth) : null);
    return problem === null ? null : { row, column, problem };
  };
}

async function loadFile(spec: string, cwd: string): Promise<RewardHook> {
  const { loadHook } = await import("../../bridge/hooks/preflight.js");
  const [path = "", exportName = "default"] = spec.split("#");
  return loadHook({ path, exportName }, "reward", cwd);
}

async function loadGrader(spec: string): Promise<RewardHook> {
  const [{ builtinGraders }, { graderReward }] = await Promise.all([
    import("../graders/builtin.js"),
    import("../../bridge/hooks/load.js"),
  ]);
  const name = spec.slice("builtin:".length);
  const grader = Object.entries(builtinGraders).find(([known]) => known === name)?.[1];
  if (grader) return graderReward(grader as Grader);
  throw new ConfigError(`there is no built-in reward ${JSON.stringify(name)}`, {
    code: "unknown-hook",
    place: { at: "--reward" },
    hint: `the built-in ones are ${Object.keys(builtinGraders).join(", ")}`,
  });
}

/** Why a reward's schema refuses a ground truth; null where it takes it. */
export function schemaProblem(hook: RewardHook, groundTruth: unknown): string | null {
  const parsed = z.safeParse(hook.groundTruth, groundTruth);
  if (parsed.success) return null;
  const issue = parsed.error.issues[0];
  const at = issue?.path.length ? ` at ${issue.path.join(".")}` : "";
  return `is ${show(groundTruth)}, which the reward "${hook.name}" refuses${at}: ${issue?.message}`;
}

/** A grader takes any ground truth, and says in its reason that it holds no answer. */
function emptyTruth(hook: RewardHook, groundTruth: unknown): string | null {
  const input = { response: "", groundTruth, taskId: "", signal: AbortSignal.timeout(1000) };
  const graded: unknown = hook.score(input as Parameters<RewardHook["score"]>[0]);
  if (typeof graded !== "object" || graded === null || !("reason" in graded)) return null;
  const reason = String(graded.reason);
  return reason.startsWith("the ground truth") ? `is ${show(groundTruth)}: ${reason}` : null;
}

const show = (value: unknown): string => String(JSON.stringify(value)).slice(0, 80);
