import type { Grader, RewardHook, RewardResult } from "../../bridge/hooks/types.js";
import type { ColumnNames } from "../data/row.js";
import type { Sampling, SamplingInput } from "../session/settings.js";
import type { Estimate, PairedTest } from "./statistics.js";

export interface EvalOptions {
  /** A data file: Parquet, JSONL, JSON or CSV. */
  data: string;
  /** Where the file keeps what, if not under the usual names. */
  columns?: ColumnNames;
  /** ./reward.ts, ./hooks.ts#name or builtin:NAME, run isolated; or a reward or grader, run in this process. */
  reward: string | RewardHook | Grader;
  /** Samples of each problem; default 1. */
  n?: number;
  sampling?: SamplingInput;
  /** The value from which a score that doesn't say so is a success; default 1. */
  successThreshold?: number;
  /** A JSONL file that gets each problem when it is scored; an evaluation that finds it goes on from there. */
  out?: string;
  /** Limits of the reward, as genenv.hooks has them. */
  limits?: { timeoutMs?: number; batchTimeoutMs?: number; heapMb?: number; concurrency?: number };
  signal?: AbortSignal;
  onProgress?: (progress: EvalProgress) => void;
}

/** `done` of `total` problems are sampled and scored; `samples` have been generated in this call. */
export interface EvalProgress {
  done: number;
  total: number;
  samples: number;
}

/** One response with its score. */
export interface ScoredSample {
  text: string;
  finishReason: "stop" | "length";
  responseTokens: number;
  result: RewardResult;
}

/** A problem's samples, in order. `row` counts from 1, as errors do. */
export interface EvaluatedProblem {
  row: number;
  dataSource: string | null;
  samples: ScoredSample[];
}

/** A problem in a report: abstained and failed samples are in neither `scored` nor `mean`. */
export interface ProblemReport {
  row: number;
  dataSource: string | null;
  samples: number;
  scored: number;
  successes: number;
  /** Of the scored samples; null where there are none. */
  mean: number | null;
}

/** Figures of some problems. Intervals are over problems. */
export interface EvalFigures {
  problems: number;
  samples: number;
  scored: number;
  /** Problems without a scored sample: in no mean. */
  unscoredProblems: number;
  /** Samples cut off at maxTokens or at the context's end. */
  truncated: number;
  abstained: { count: number; reasons: Record<string, number> };
  /** `first` is the first failure's own text. */
  failed: { count: number; codes: Record<string, number>; first: string | null };
  meanResponseTokens: number | null;
  /** The mean score, each problem counting the same. */
  mean: Estimate | null;
  /** For each k from 1 to n: over the problems with at least k scored samples. */
  passAt: { k: number; estimate: Estimate | null }[];
}

export interface EvalReport {
  model: string;
  modelPath: string;
  /** Absolute. */
  data: string;
  reward: string;
  n: number;
  sampling: Sampling;
  successThreshold: number;
  overall: EvalFigures;
  bySource: (EvalFigures & { dataSource: string | null })[];
  problems: ProblemReport[];
}

/** Two reports on the same problems; differences are the second's minus the first's. */
export interface EvalComparison {
  first: string;
  second: string;
  /** Problems that both scored. */
  problems: number;
  mean: PairedTest | null;
  passAt1: PairedTest | null;
}
