import { PythonError } from "../bridge/errors.js";
import type { HookRole } from "./config/parts.js";
import { type ResolvedConfig, resolveConfig } from "./config/resolve.js";
import type { ConfigInput } from "./config/schema.js";
import { writeConfig } from "./config/write.js";
import { EventStream } from "./run/event-stream.js";
import { parseEvent, parseResult, type RunEvent, type RunResult } from "./run/events.js";
import type { GivenHooks } from "./run/hook-modules.js";
import { type RunParts, realParts } from "./run/parts.js";
import { assertCanResume, resumeConfig } from "./run/resume.js";

export interface TrainOptions {
  /** Default: trainer.experiment_name, else date and time. */
  name?: string;
  /** `key=value`, as on the command line. */
  overrides?: readonly string[];
  /** actor_rollout_ref.model.path. */
  model?: string;
  /** env_model_path. */
  envModel?: string;
  /** Hooks as values; they run in this process, where a deadline can't stop an endless loop. */
  hooks?: GivenHooks;
  /** Stops the run as `stop()` does. */
  signal?: AbortSignal;
  /** Relative paths and runs/ start here. Default: the process's folder. */
  cwd?: string;
}

/**
 * A run under way. Iterating gives its events: the first iterator all of them (of those before it, the last 10,000),
 * later ones what comes from then on. A failure rejects `result` and throws in every iterator.
 */
export interface Run extends AsyncIterable<RunEvent> {
  readonly name: string;
  /** The run's folder, absolute. */
  readonly dir: string;
  readonly config: ResolvedConfig;
  readonly result: Promise<RunResult>;
  /**
   * Ends the run after the step under way, with everything saved; resolves when it has ended. After `withinMs` it is
   * ended by force, and what the last checkpoint has is what is saved.
   */
  stop(options?: { withinMs?: number }): Promise<void>;
}

/**
 * Trains agent and environment model as a configuration says: a YAML file, an object, or null for the default
 * run. Throws ConfigError at once where it can't be resolved; everything else rejects `result`.
 */
export function train(config: ConfigInput | string | null = null, options: TrainOptions = {}): Run {
  const { hooks = {}, signal, ...request } = options;
  const resolved = resolveConfig({ config, ...request, hooksGiven: rolesOf(hooks) });
  return startRun(resolved, { hooks, signal });
}

export interface ResumeOptions {
  /** `key=value`, as on the command line; only some keys may change (docs/resume.md). */
  overrides?: readonly string[];
  /** Hooks that the run was given as values: they are in no file. */
  hooks?: GivenHooks;
  signal?: AbortSignal;
  /** Relative paths start here. Default: the process's folder, which should be the one the run was started in. */
  cwd?: string;
}

/**
 * Goes on with a run from its newest complete checkpoint, in its own folder and with its own config.yaml. Throws
 * ConfigError at once where that can't be: no run there, its epochs are finished, or a key changed that may not.
 */
export function resume(runDir: string, options: ResumeOptions = {}): Run {
  const { hooks = {}, signal, overrides, cwd } = options;
  const config = resumeConfig(runDir, { overrides, cwd, hooksGiven: rolesOf(hooks) });
  return startRun(config, { hooks, signal });
}

const rolesOf = (hooks: GivenHooks): HookRole[] =>
  (["reward", "environment", "curriculum"] as const).filter((role) => hooks[role] !== undefined);

/** Starts a resolved run; throws ConfigError where it is to go on and can't. */
export function startRun(
  config: ResolvedConfig,
  options: { hooks?: GivenHooks; signal?: AbortSignal; parts?: RunParts } = {},
): Run {
  if (config.resume) assertCanResume(config);
  const events = new EventStream<RunEvent>();
  const stopping = new AbortController();
  const ending = new AbortController();
  const signal = options.signal
    ? AbortSignal.any([stopping.signal, options.signal])
    : stopping.signal;
  const parts = options.parts ?? realParts;
  const result = execute(config, { ...options, parts, signal, forced: ending.signal, events });
  const ended = result.then(
    () => events.end(),
    (error: unknown) => events.end({ error }),
  );
  return {
    name: config.name,
    dir: config.runDir,
    config,
    result,
    stop: async ({ withinMs } = {}) => {
      stopping.abort();
      const timer = withinMs === undefined ? undefined : setTimeout(() => ending.abort(), withinMs);
      await ended;
      clearTimeout(timer);
    },
    [Symbol.asyncIterator]: () => events[Symbol.asyncIterator](),
  };
}

interface Execution {
  hooks?: GivenHooks;
  parts: RunParts;
  signal: AbortSignal;
  /** The training gets no more time. */
  forced: AbortSignal;
  events: EventStream<RunEvent>;
}

async function execute(config: ResolvedConfig, run: Execution): Promise<RunResult> {
  const { withPreparedRun } = await import("./run/prepare.js");
  const { signal, events, parts } = run;
  let at = { epoch: 0, step: 0 };
  const onDetail = (detail: string): void =>
    events.push({ ...at, type: "phase", phase: "start", role: null, detail });
  const onWarning = (code: string, message: string): void =>
    events.push({ ...at, type: "warning", code, message });
  let began = false;
  try {
    return await withPreparedRun(
      { config, hooks: run.hooks ?? {}, parts, signal, onDetail, onWarning },
      async ({ session, params }) => {
        began = true;
        writeConfig(config);
        const onEvent = (raw: Record<string, unknown>): void => {
          const event = parseEvent(raw);
          at = { epoch: event.epoch, step: event.step };
          events.push(event);
        };
        run.forced.addEventListener("abort", () => void session.close({ graceMs: 0 }));
        try {
          return parseResult(await session.call("train", params, { signal, onEvent }));
        } finally {
          const { writeReportAtEnd } = await import("./report/at-end.js");
          await writeReportAtEnd(config.runDir, onWarning);
        }
      },
    );
  } catch (error) {
    if (run.forced.aborted) return stoppedResult(at);
    if (signal.aborted && !began && isStopped(error)) return stoppedResult(at);
    throw error;
  }
}

/** True for what a stop makes of the preparation. */
function isStopped(error: unknown): boolean {
  return (error instanceof Error && error.name === "AbortError") || error instanceof PythonError;
}

function stoppedResult({ epoch, step }: { epoch: number; step: number }): RunResult {
  return { epochs: epoch, steps: step, checkpoint: null, stopped: true, metrics: {} };
}
