import { PythonError } from "../errors.js";
import { type ControlMessage, createMessageReader, toRequest } from "./control-messages.js";
import { toDeathError, toJobError } from "./job-errors.js";
import type { Env } from "./paths.js";
import { type Exit, PythonProcess } from "./python-process.js";

export interface OpenPythonOptions {
  /** The interpreter, as from ensurePython(). */
  python: string;
  /** Python's log, appended to: all that it and its children print. */
  logFile: string;
  /** The variables that Python starts with; the default is this process's. */
  env?: Env;
  /** How long jobs get to end by themselves when Node is gone or the session closes; default 15 s. */
  graceMs?: number;
  /** Default 60 s. */
  startTimeoutMs?: number;
}

export interface CallOptions {
  /** Asks the job to stop. The call still settles with what the job makes of it. */
  signal?: AbortSignal;
  onEvent?: (event: Record<string, unknown>) => void;
  /** Rejects with PythonError "python-timeout" and asks the job to stop; no limit by default. */
  timeoutMs?: number;
}

export interface PythonSession {
  readonly pid: number;
  /** Runs a job of genenv.control; many can run at once. */
  call(method: string, params?: object, options?: CallOptions): Promise<unknown>;
  /** Asks running jobs to stop, waits `graceMs` for them, then ends Python and all its children. */
  close(options?: { graceMs?: number }): Promise<void>;
}

interface Pending {
  method: string;
  options: CallOptions;
  settle(outcome: { result: unknown } | { error: unknown }): void;
}

// After the grace period Python runs the exit hooks of its libraries, 5 s at most.
const exitHooksMs = 7_000;

/**
 * A Python process that runs jobs, until close(). Several can be open at once, one after another too. The process ends
 * when Node does, however Node ends. An open session with no call running doesn't keep Node alive.
 */
export async function openPython(options: OpenPythonOptions): Promise<PythonSession> {
  const graceMs = options.graceMs ?? 15_000;
  const pending = new Map<number, Pending>();
  const read = createMessageReader();
  let dead: PythonError | null = null;
  let lastId = 0;

  const python = await PythonProcess.start({
    ...options,
    env: options.env ?? process.env,
    graceMs,
    startTimeoutMs: options.startTimeoutMs ?? 60_000,
    onData,
  });
  const ended = python.exited.then(onExit);

  function onData(chunk: Buffer): void {
    try {
      for (const message of read(chunk)) onMessage(message);
    } catch (error) {
      rejectAll(error);
      python.kill();
    }
  }

  function onMessage(message: ControlMessage): void {
    const call = pending.get(message.id);
    // Nobody waits: the answer to a "cancel", or to a call that has timed out.
    if (!call) return;
    if ("event" in message) deliver(message.id, call, message.event);
    else if ("error" in message) {
      call.settle({ error: toJobError(message.error, call.method, options.logFile) });
    } else call.settle({ result: message.result });
  }

  function deliver(id: number, call: Pending, event: Record<string, unknown>): void {
    try {
      call.options.onEvent?.(event);
    } catch (error) {
      call.settle({ error });
      cancel(id);
    }
  }

  async function onExit(exit: Exit): Promise<void> {
    const methods = [...pending.values()].map((call) => `"${call.method}"`).join(", ");
    const log = { file: options.logFile, lines: python.logTail() };
    dead ??= toDeathError(exit, methods ? `while it ran ${methods}` : "with no job running", log);
    rejectAll(dead);
    await python.dispose();
  }

  function rejectAll(error: unknown): void {
    for (const call of [...pending.values()]) call.settle({ error });
  }

  function cancel(job: number): void {
    if (!dead) python.send(toRequest(++lastId, "cancel", { job }));
  }

  function call(
    method: string,
    params: object = {},
    callOptions: CallOptions = {},
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (dead) throw dead;
      const id = ++lastId;
      const request = toRequest(id, method, params);
      const { signal, timeoutMs } = callOptions;
      const onAbort = (): void => cancel(id);
      const timer = timeoutMs === undefined ? undefined : setTimeout(onTimeout, timeoutMs);
      function onTimeout(): void {
        settle({ error: toTimeoutError(method, timeoutMs ?? 0) });
        cancel(id);
      }
      function settle(outcome: { result: unknown } | { error: unknown }): void {
        pending.delete(id);
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
        python.hold(pending.size > 0);
        if ("error" in outcome) reject(outcome.error);
        else resolve(outcome.result);
      }
      pending.set(id, { method, options: callOptions, settle });
      python.hold(true);
      python.send(request);
      if (signal?.aborted) onAbort();
      else signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  async function close({ graceMs: grace = graceMs }: { graceMs?: number } = {}): Promise<void> {
    if (!dead) {
      dead = new PythonError("the Python session is closed", { code: "python-closed" });
      python.hold(true);
      python.send(toRequest(++lastId, "shutdown", { graceMs: grace }));
      const timer = setTimeout(() => python.kill(), grace + exitHooksMs);
      await python.exited;
      clearTimeout(timer);
    }
    await ended;
  }

  return { pid: python.pid, call, close };
}

function toTimeoutError(method: string, timeoutMs: number): PythonError {
  return new PythonError(`the job "${method}" gave no result within ${timeoutMs} ms`, {
    code: "python-timeout",
    hint: "allow it more time; it has been asked to stop",
  });
}
