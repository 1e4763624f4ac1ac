/** Runs hooks in this very thread: for hooks given as functions, where no deadline can stop a loop. */
import type { Op } from "../wire.js";
import type { PoolReply, PoolRequest } from "./job.js";
import { asyncPlan, withDefaultLimits } from "./limits.js";
import { describeHooks } from "./load.js";
import type { Limits } from "./messages.js";
import { type Hooks, type OpBatch, openBatch, type RowResult } from "./ops.js";
import { batchTimedOut } from "./result.js";
import { RowRunner, type RowSink } from "./row-runner.js";

/** How long rows run before the event loop gets a turn. */
const SLICE_MS = 20;

export function createLocalRunner(
  hooks: Hooks,
  limits: Limits,
): (request: PoolRequest, signal: AbortSignal) => Promise<PoolReply> {
  const own = { ...limits, workers: 1 };
  const runners = new Map<Op, RowRunner>();
  return async ({ op, payload }, signal) => {
    const batch = openBatch(op, payload, hooks);
    let runner = runners.get(op);
    if (runner === undefined) {
      const { share } = asyncPlan(op, describeHooks(hooks), own);
      runner = new RowRunner({ timeoutMs: own.timeoutMs, concurrency: share });
      runners.set(op, runner);
    }
    const results = await runBatch(batch, runner, own, signal);
    const values = new Float64Array(batch.rows);
    const others: PoolReply["others"] = new Map();
    results.forEach((result, row) => {
      if (typeof result === "number") values[row] = result;
      else others.set(row, result);
    });
    return { values, others, isSent: false };
  };
}

/** A result for every row of a batch, deadlines included. */
export async function runBatch(
  batch: OpBatch,
  runner: RowRunner,
  limits: Pick<Limits, "batchTimeoutMs">,
  signal: AbortSignal | null,
): Promise<RowResult[]> {
  const results = new Array<RowResult | undefined>(batch.rows);
  let isOver = false;
  const sink: RowSink = {
    batch,
    isWanted: () => !isOver && signal?.aborted !== true,
    started: () => {},
    finished: (row, result) => {
      results[row] ??= result;
    },
  };
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limits.batchTimeoutMs);
  });
  await Promise.race([runSlices(runner, sink, batch.rows), deadline]);
  clearTimeout(timer);
  isOver = true;
  return Array.from(
    results,
    (result, row) => result ?? batchTimedOut(batch.where(row), limits.batchTimeoutMs),
  );
}

async function runSlices(runner: RowRunner, sink: RowSink, rows: number): Promise<void> {
  await new Promise<void>((resolve) => {
    const slice = (from: number): void => {
      const next = runner.run(sink, from, rows, resolve, performance.now() + SLICE_MS);
      if (next < rows) setImmediate(() => slice(next));
    };
    slice(0);
  });
}

export { withDefaultLimits };
