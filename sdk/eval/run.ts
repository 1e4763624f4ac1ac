import { resolve } from "node:path";
import { HookError } from "../../bridge/errors.js";
import type { RewardResult } from "../../bridge/hooks/types.js";
import type { PythonSession } from "../../bridge/python/session.js";
import type { DataFile } from "../data/read.js";
import { readDataFile } from "../data/read.js";
import type { SessionOptions } from "../session/engine.js";
import type { Generated } from "../session/messages.js";
import { type Sampling, toSampleCount } from "../session/settings.js";
import type { GenerateRequest } from "../session.js";
import { createBatcher } from "./batcher.js";
import { rewardName, toIdentity } from "./identity.js";
import { buildReport } from "./report.js";
import { openResultFile, type ResultFile } from "./result-file.js";
import { type Scorer, startScorer } from "./scorer.js";
import type { EvalOptions, EvalReport, EvaluatedProblem } from "./types.js";

/** The warm model that an evaluation is of. */
export interface EvalSubject {
  model: string;
  modelPath: string;
  python: Pick<PythonSession, "call">;
  samples(request: GenerateRequest, skip: readonly number[]): AsyncIterable<Generated>;
}

/** What can be read and started before a model is loaded. */
export interface EvalParts {
  data: DataFile;
  /** Rejects where the reward can't be loaded, or refuses a ground truth. */
  scorer: Promise<Scorer>;
}

/** Reads the data and starts the reward's host. The caller closes the scorer, or hands it to `runEvaluation`. */
export async function startEvalParts(
  options: Pick<EvalOptions, "data" | "columns" | "reward" | "limits">,
  { cwd = process.cwd(), parts }: Pick<SessionOptions, "cwd" | "parts">,
): Promise<EvalParts> {
  const data = await readDataFile(resolve(cwd, options.data), options.columns);
  const { reward, limits } = options;
  const scorer = startScorer({ reward, limits, projectDir: cwd, parts }, data);
  // Whoever awaits it gets its failure; until then it is nobody's.
  scorer.catch(() => {});
  return { data, scorer };
}

/**
 * Samples and scores every problem that the result file doesn't have yet. Generation starts at once, while the reward
 * is loading; what fails first stops the other, and what is scored by then is in the file.
 */
export async function runEvaluation(
  subject: EvalSubject,
  options: Omit<EvalOptions, "sampling"> & { sampling: Sampling },
  places: Pick<SessionOptions, "cwd" | "parts">,
  started?: EvalParts,
): Promise<EvalReport> {
  const n = toSampleCount(options.n);
  const { reward, sampling, successThreshold = 1 } = options;
  const { data, scorer } = started ?? (await startEvalParts(options, places));
  try {
    const file = await openResults(subject, { ...options, n }, data, places.cwd);
    const problems = await evaluateRest(subject, { ...options, n }, { data, scorer, file });
    const { model, modelPath } = subject;
    const about = { model, modelPath, data: data.file, reward: rewardName(reward) };
    return buildReport({ ...about, n, sampling, successThreshold }, problems);
  } finally {
    const host = await scorer.catch(() => null);
    await host?.close();
  }
}

async function openResults(
  { modelPath }: EvalSubject,
  options: Pick<EvalOptions, "out" | "reward" | "columns"> & { n: number; sampling: Sampling },
  data: DataFile,
  cwd = process.cwd(),
): Promise<ResultFile | null> {
  const { out, reward, n, sampling, columns } = options;
  if (out === undefined) return null;
  const own = { modelPath, dataFile: data.file, columns, reward, n, sampling, projectDir: cwd };
  return openResultFile(resolve(cwd, out), await toIdentity(own));
}

interface Progressing {
  data: DataFile;
  scorer: Promise<Scorer>;
  file: ResultFile | null;
}

async function evaluateRest(
  { samples, python }: EvalSubject,
  options: Omit<EvalOptions, "sampling"> & { n: number; sampling: Sampling },
  { data, scorer, file }: Progressing,
): Promise<EvaluatedProblem[]> {
  const { n, sampling, signal, onProgress } = options;
  const done = new Map((file?.done ?? []).map((problem) => [problem.row, problem]));
  const failing = new AbortController();
  let generated = 0;
  const tell = (): void =>
    onProgress?.({ done: done.size, total: data.rows.length, samples: generated });

  const batcher = createBatcher<Finished>(async (finished) => {
    const scored = await scoreProblems(await scorer, python, finished, data);
    file?.append(scored);
    for (const problem of scored) done.set(problem.row, problem);
    tell();
  }, failing);
  // A reward that can't be used ends the generation, however far it is.
  scorer.catch((error: unknown) => failing.abort(error));

  const waiting = new Map<number, Generated[]>();
  const stop = signal ? AbortSignal.any([signal, failing.signal]) : failing.signal;
  const prompts = data.rows.map(({ prompt }) => prompt);
  const skip = [...done.keys()].map((row) => row - 1);
  tell();
  try {
    for await (const sample of samples({ prompts, n, sampling, signal: stop }, skip)) {
      generated += 1;
      const own = waiting.get(sample.prompt) ?? [];
      own.push(sample);
      waiting.set(sample.prompt, own);
      tell();
      if (own.length < n) continue;
      waiting.delete(sample.prompt);
      batcher.add({ index: sample.prompt, samples: own });
    }
  } finally {
    await batcher.settled();
  }
  failing.signal.throwIfAborted();
  return [...done.values()].sort((a, b) => a.row - b.row);
}

interface Finished {
  /** Of the prompt, from 0. */
  index: number;
  samples: Generated[];
}

async function scoreProblems(
  scorer: Scorer,
  python: Pick<PythonSession, "call">,
  finished: readonly Finished[],
  { rows }: DataFile,
): Promise<EvaluatedProblem[]> {
  const ordered = finished.map(({ index, samples }) => {
    const data = rows[index];
    if (!data) throw new HookError(`there is no row ${index + 1}`, { code: "batch-shape" });
    return { row: index + 1, data, samples: samples.sort((a, b) => a.sample - b.sample) };
  });
  const requests = ordered.flatMap(({ row, data, samples }) =>
    samples.map(({ text }) => ({ response: text, row, data })),
  );
  const results = await scorer.score(python, requests);
  let at = 0;
  return ordered.map(({ row, data, samples }) => ({
    row,
    dataSource: data.dataSource,
    samples: samples.map(({ text, finishReason, responseTokens }) => ({
      text,
      finishReason,
      responseTokens,
      result: results[at++] as RewardResult,
    })),
  }));
}
