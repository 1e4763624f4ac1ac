import { runEvaluation, startEvalParts } from "./eval/run.js";
import type { EvalOptions, EvalReport } from "./eval/types.js";
import type { SessionOptions } from "./session/engine.js";
import {
  parseSessionConfig,
  type SessionConfig,
  toSampleCount,
  toSampling,
} from "./session/settings.js";
import { openSubject } from "./session.js";

/** What `evaluate` takes: a session's configuration and an evaluation in one. */
export type EvaluateOptions = Omit<EvalOptions, "onProgress"> &
  Omit<SessionConfig, "sampling"> &
  Omit<SessionOptions, "signal" | "onProgress"> & {
    onProgress?: EvalOptions["onProgress"];
    /** Told what is being waited for. */
    onDetail?: (line: string) => void;
  };

/**
 * How good a model is on a data file: samples each problem `n` times and scores the responses as training would.
 * The data and the reward are checked before the model is loaded. `openSession` keeps a model for several evaluations.
 */
export async function evaluate(options: EvaluateOptions): Promise<EvalReport> {
  const { data, columns, reward, n, sampling, successThreshold, ...others } = options;
  const { out, limits, signal, onProgress, cwd, logDir, parts, onDetail, ...config } = others;
  const evaluation = {
    data,
    columns,
    reward,
    successThreshold,
    out,
    limits,
    signal,
    onProgress,
    n: toSampleCount(n),
    sampling: toSampling(sampling),
  };
  const settings = parseSessionConfig(config);
  const started = await startEvalParts(evaluation, { cwd, parts });
  const scorer = await started.scorer;
  const { session, subject } = await openSubject(settings, {
    signal,
    cwd,
    logDir,
    parts,
    onProgress: onDetail,
  }).catch(async (error: unknown) => {
    await scorer.close();
    throw error;
  });
  try {
    return await runEvaluation(subject, evaluation, { cwd, parts }, started);
  } finally {
    await session.close();
  }
}
