import { availableParallelism } from "node:os";
import { Op } from "../wire.js";
import type { HookInfo } from "./load.js";
import type { Limits } from "./messages.js";

/** Limits for what a caller leaves out. */
export function withDefaultLimits(limits: Partial<Limits>): Limits {
  return {
    timeoutMs: limits.timeoutMs ?? 10_000,
    batchTimeoutMs: limits.batchTimeoutMs ?? 300_000,
    heapMb: limits.heapMb ?? 512,
    concurrency: limits.concurrency ?? 16,
    workers: limits.workers ?? Math.max(1, Math.min(availableParallelism(), 8)),
  };
}

/** How an op's concurrency is shared out: so many workers, each with so many rows of an async hook under way. */
export function asyncPlan(
  op: Op,
  info: HookInfo,
  limits: Limits,
): { workers: number; share: number } {
  const own = op === Op.SCORE ? info.rewardConcurrency : null;
  const concurrency = Math.max(1, own ?? limits.concurrency);
  const workers = Math.min(limits.workers, concurrency);
  return { workers, share: Math.floor(concurrency / workers) };
}
