import type { RewardResult } from "../../bridge/hooks/types.js";
import type { ScoreCase } from "./cases.js";

/** A stored response whose result is another one now. */
export interface Change {
  task: string;
  response: string;
  before: RewardResult;
  after: RewardResult;
}

/** How a run's stored results differ from those of the reward as it is now. */
export interface Changes {
  same: number;
  changed: number;
  /** Scores that grew and that fell; the others came to be, or are no more. */
  up: number;
  down: number;
  /** Of the stored scores; null where there were none. */
  meanBefore: number | null;
  /** The first of them. */
  examples: Change[];
}

const maxExamples = 100;
const tolerance = 1e-9;

/** Compares each case's stored result with its new one. */
export class ChangeTally {
  readonly #examples: Change[] = [];
  readonly #counts = { same: 0, changed: 0, up: 0, down: 0 };
  #sum = 0;
  #scored = 0;

  add({ taskId, response, before }: ScoreCase, after: RewardResult): void {
    if (before === null) return;
    if (before.kind === "score") {
      this.#sum += before.value;
      this.#scored += 1;
    }
    if (isSame(before, after)) {
      this.#counts.same += 1;
      return;
    }
    this.#counts.changed += 1;
    if (before.kind === "score" && after.kind === "score")
      this.#counts[after.value > before.value ? "up" : "down"] += 1;
    if (this.#examples.length < maxExamples)
      this.#examples.push({ task: taskId, response, before, after });
  }

  changes(): Changes {
    const meanBefore = this.#scored === 0 ? null : this.#sum / this.#scored;
    return { ...this.#counts, meanBefore, examples: this.#examples };
  }
}

function isSame(before: RewardResult, after: RewardResult): boolean {
  if (before.kind === "score" && after.kind === "score")
    return Math.abs(before.value - after.value) <= tolerance;
  // Reasons hold line numbers: another line is no other result.
  if (before.kind === "failed" && after.kind === "failed") return before.code === after.code;
  return before.kind === after.kind;
}
