/** A request under way in the pool, and the blocks of rows it is handed out in. */
import { encodeHeader, Kind, Op } from "../wire.js";
import type { RowResult } from "./ops.js";
import { MAX_LANE_ROWS, type ReplyLane } from "./reply-lane.js";
import type { Where } from "./result.js";
import { openArena, type RequestMemory, RowState, readArena } from "./shared-memory.js";

export type PoolRequest = {
  id: bigint;
  op: Op;
  attempt: number;
  rows: number;
  payload: Uint8Array;
  /** Says whose row it is, for messages. */
  where(row: number): Where;
  /** Called when no worker can read the payload any more; never where one was killed over it. */
  release(): void;
  /** By which a worker may answer; null where this thread does. */
  lane: ReplyLane | null;
};

/** A request's results: plain scores by row, and all others by row number. */
export type PoolReply = {
  values: Float64Array;
  others: Map<number, Exclude<RowResult, number>>;
  /** A worker has sent these very results to the client. */
  isSent: boolean;
};

export type Job = {
  id: number;
  request: PoolRequest;
  memory: RequestMemory;
  others: Map<number, Exclude<RowResult, number>>;
  openRows: number;
  dueMs: number;
  isClosed: boolean;
  /** Blocks that workers hold. */
  heldBlocks: number;
  /** Stops listening for the end of the request's connection. */
  forget: () => void;
  resolve: (reply: PoolReply) => void;
  reject: (error: Error) => void;
};

export type Block = {
  id: number;
  job: Job;
  from: number;
  to: number;
  /** Runs with no other block in its worker: its row is suspected of taking workers down. */
  isAlone: boolean;
  arenas: SharedArrayBuffer[];
};

export function createJob(
  id: number,
  request: PoolRequest,
  memory: RequestMemory,
  dueMs: number,
  settle: Pick<Job, "resolve" | "reject">,
): Job {
  if (canSend(request)) memory.frame.set(plainHeader(request));
  return {
    id,
    request,
    memory,
    others: new Map(),
    openRows: request.rows,
    dueMs,
    isClosed: false,
    heldBlocks: 0,
    forget: () => {},
    ...settle,
  };
}

/** Whether a worker may answer a request by itself, if all its results are plain scores. */
export function canSend({ op, lane, rows }: PoolRequest): boolean {
  return op === Op.SCORE && lane !== null && rows <= MAX_LANE_ROWS;
}

function plainHeader({ op, id, rows }: PoolRequest): Buffer {
  return encodeHeader({ op, kind: Kind.REPLY_F64, attempt: 0, id, length: 8 * rows });
}

/** Runs of waiting rows among from..to-1, none longer than `blockRows`, as [from, to) pairs. */
export function waitingRuns(
  job: Job,
  blockRows: number,
  from: number,
  to: number,
): [number, number][] {
  const { states } = job.memory;
  const runs: [number, number][] = [];
  let row = from;
  while (row < to) {
    let end = row;
    while (end < to && end - row < blockRows && states[end] === RowState.WAITING) end += 1;
    if (end > row) runs.push([row, end]);
    row = Math.max(end, row + 1);
  }
  return runs;
}

export function isFinished(job: Job, row: number): boolean {
  const state = job.memory.states[row];
  return state === RowState.PLAIN || state === RowState.OTHER;
}

/** Reads what a worker left of the block's results that are no plain scores; later entries win. */
export function absorb(block: Block): void {
  for (const arena of block.arenas) {
    for (const entry of readArena(openArena(arena))) {
      const [row, result] = entry as [number, Exclude<RowResult, number>];
      block.job.others.set(row, result);
    }
  }
}

/** A block that a killed worker held stays counted, and its payload is left to the garbage collector. */
export function releaseIfUnread(job: Job): void {
  if (job.isClosed && job.heldBlocks === 0) job.request.release();
}
