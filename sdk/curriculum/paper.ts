import type { CurriculumHook, Decision, SelectInput } from "../../bridge/hooks/types.js";
import { defineCurriculum } from "../define.js";
import { bandFilter, quantileFilter, type Verdict } from "./filter.js";

/**
 * How likely a kept task is drawn from the pool: its environment reward R, so that tasks at the agent's edge
 * come up most. 0 for a task that is not kept or has no reward.
 */
export function poolWeight(verdict: Verdict, reward: number | null): number {
  return verdict === "kept" && reward !== null ? reward : 0;
}

/** The curriculum `builtin:paper`: `filtering_mode` and `filtering_k` decide, R weighs. */
export const paper: CurriculumHook = defineCurriculum({ name: "paper", select: selectByFilter });

function selectByFilter(input: SelectInput): Decision[] {
  const rates = input.tasks.map((task) => task.successRate);
  const verdicts =
    input.filteringMode === "band"
      ? bandFilter(rates, { alpha: input.targetSuccess, k: input.filteringK })
      : quantileFilter(rates, { k: input.filteringK });
  return input.tasks.map((task, index) => {
    const verdict = verdicts[index] ?? "unscored";
    return {
      id: task.id,
      keep: verdict === "kept",
      weight: poolWeight(verdict, task.reward),
      reason: verdict,
    };
  });
}
