/** Which worker gets which rows: pure decisions over the workers' seats. */
import type { Op } from "../wire.js";
import type { Block, PoolRequest } from "./job.js";
import { asyncPlan } from "./limits.js";
import type { HookInfo } from "./load.js";
import type { Limits } from "./messages.js";
import { holdsExclusive, leastLoaded, openRowsOf, type Seat } from "./seat.js";

export type DispatchRules = {
  limits: Limits;
  info: HookInfo;
  /** Rows can be noted in a journal before they run. */
  hasJournal: boolean;
  asyncOps: ReadonlySet<Op>;
  /** Milliseconds a row of a synchronous op takes. */
  costMs: ReadonlyMap<Op, number>;
};

/** A block of a synchronous hook should take about so long. */
const BLOCK_MS = 4;
/** A request cheaper than this isn't worth dividing. */
const CHEAP_MS = 1.5;

/** Whether a request's rows run one by one, noted in the journal: it was there when a host died. */
export function isCareful(rules: DispatchRules, request: PoolRequest): boolean {
  if (!rules.hasJournal) return false;
  // The host may have been killed for another reason, and a slow async hook one by one takes very long.
  return request.attempt >= (rules.asyncOps.has(request.op) ? 2 : 1);
}

/** How many rows of a request a worker gets at once. */
export function blockRows(rules: DispatchRules, request: PoolRequest): number {
  const { limits, info, asyncOps, costMs } = rules;
  const { rows, op } = request;
  if (isCareful(rules, request)) return rows;
  const isAsync = asyncOps.has(op);
  const workers = isAsync ? asyncPlan(op, info, limits).workers : limits.workers;
  const even = Math.ceil(rows / workers);
  const cost = costMs.get(op);
  if (isAsync || cost === undefined) return even;
  if (cost * rows <= CHEAP_MS) return rows;
  return Math.max(1, Math.min(even, Math.ceil(BLOCK_MS / cost)));
}

/** Whether blocks behind this one must wait with it: they would find no seat either, or must not run beside it. */
export function mustRunFirst(rules: DispatchRules, block: Block): boolean {
  const { request } = block.job;
  return block.isAlone || isCareful(rules, request) || !rules.asyncOps.has(request.op);
}

/** The seat for a block; null while it has to wait. */
export function seatFor(rules: DispatchRules, seats: readonly Seat[], block: Block): Seat | null {
  const open = seats.filter((seat) => seat.isReady && !seat.isGone);
  const isExclusive = (held: Block): boolean => isCareful(rules, held.job.request);
  if (open.some((seat) => holdsExclusive(seat, isExclusive))) return null;
  if (isExclusive(block)) {
    return open.every((seat) => seat.blocks.size === 0) ? (open[0] ?? null) : null;
  }
  const free = open.filter((seat) => !holdsExclusive(seat, (held) => held.isAlone));
  if (block.isAlone) return free.find((seat) => seat.blocks.size === 0) ?? null;
  const { op } = block.job.request;
  if (rules.asyncOps.has(op)) {
    const plan = asyncPlan(op, rules.info, rules.limits);
    const able = free.slice(0, plan.workers).filter((seat) => openRowsOf(seat) < 2 * plan.share);
    return leastLoaded(able, openRowsOf);
  }
  return leastLoaded(
    free.filter((seat) => seat.blocks.size < 2),
    (seat) => seat.blocks.size,
  );
}
