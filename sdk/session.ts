import { PythonError } from "../bridge/errors.js";
import type { Message } from "../bridge/hooks/types.js";
import type { EvalSubject } from "./eval/run.js";
import type { EvalOptions, EvalReport } from "./eval/types.js";
import { engineId, type SessionOptions, startEngine } from "./session/engine.js";
import {
  type Generated,
  parseStatus,
  parseTokens,
  type SessionStatus,
} from "./session/messages.js";
import { streamSamples } from "./session/samples.js";
import {
  parseSessionConfig,
  type SamplingInput,
  type SessionConfig,
  toSampleCount,
  toSampling,
} from "./session/settings.js";

/** A text (one user message) or a chat. */
export type Prompt = string | readonly Message[];

export interface GenerateRequest {
  prompts: readonly Prompt[];
  /** Samples of each prompt; default 1. */
  n?: number;
  sampling?: SamplingInput;
  /** Cancels what is under way; the loop then throws the signal's reason. */
  signal?: AbortSignal;
  /** Continues texts as they are, without the model's chat template. */
  raw?: boolean;
}

/** A warm engine: a model stays loaded between calls, and calls can overlap. Close it when it is no longer needed. */
export interface Session {
  /** As it was given. */
  readonly model: string;
  /** The folder or hub id that is loaded. */
  readonly modelPath: string;
  /** Tokens of prompt and response together. */
  readonly maxModelTokens: number;
  /** The engine's process. */
  readonly pid: number;
  /** Each sample as soon as it is finished, so prompts come in no order; `prompt` and `sample` count from 0. */
  generate(request: GenerateRequest): AsyncIterable<Generated>;
  /** Samples a data file's prompts and scores the responses, as `evaluate` does. */
  evaluate(options: EvalOptions): Promise<EvalReport>;
  /** The token ids of each prompt, as the model gets it. */
  tokenize(prompts: readonly Prompt[], options?: { raw?: boolean }): Promise<number[][]>;
  status(): Promise<SessionStatus>;
  /** Ends the engine and everything that belongs to it; calls under way reject. */
  close(): Promise<void>;
}

/**
 * Loads a model into vLLM and keeps it: from a configuration, or from a run's YAML (its agent, with its sampling).
 * Everything ends with this process, however it ends. Throws ConfigError, PythonError or WorkerError.
 */
export async function openSession(
  config: SessionConfig | string,
  options: SessionOptions = {},
): Promise<Session> {
  return (await openSubject(config, options)).session;
}

/** A session, and its model as an evaluation takes it. */
export async function openSubject(
  config: SessionConfig | string,
  options: SessionOptions,
): Promise<{ session: Session; subject: EvalSubject }> {
  const settings = parseSessionConfig(
    typeof config === "string" ? await readRunConfig(config, options) : config,
  );
  const engine = await startEngine(settings, options);
  const { opened, modelPath, python } = engine;
  let closing: Promise<void> | null = null;

  const assertOpen = (): void => {
    if (closing) throw new PythonError("the session is closed", { code: "session-closed" });
  };
  const samples = (
    request: GenerateRequest,
    skip: readonly number[] = [],
  ): AsyncIterable<Generated> => {
    assertOpen();
    const { prompts, n, sampling, signal = null, raw = false } = request;
    const params = {
      id: engineId,
      prompts,
      raw,
      n: toSampleCount(n),
      sampling: toSampling(sampling, settings.sampling),
      skip,
    };
    return streamSamples({ python, params, signal });
  };
  const { model } = settings;
  const subject = { model, modelPath, python, samples };
  const session: Session = {
    model,
    modelPath,
    maxModelTokens: opened.maxModelTokens,
    pid: opened.pid,
    generate: (request) => samples(request),
    evaluate: async (evaluation) => {
      assertOpen();
      const { runEvaluation } = await import("./eval/run.js");
      const sampling = toSampling(evaluation.sampling, settings.sampling);
      return runEvaluation(subject, { ...evaluation, sampling }, options);
    },
    tokenize: async (prompts, { raw = false } = {}) => {
      assertOpen();
      return parseTokens(await python.call("session.tokenize", { id: engineId, prompts, raw }));
    },
    status: async () => {
      assertOpen();
      return parseStatus(await python.call("session.status", { id: engineId }));
    },
    close: async () => {
      closing ??= engine.close();
      await closing;
    },
  };
  return { session, subject };
}

async function readRunConfig(file: string, { cwd }: SessionOptions): Promise<SessionConfig> {
  const { sessionOfRun } = await import("./session/run-config.js");
  return sessionOfRun(file, cwd ?? process.cwd());
}
