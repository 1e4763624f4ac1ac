/** A place in the pool: one worker thread, the blocks it holds, and the signs of life it gives. */
import { Worker } from "node:worker_threads";
import { HookError } from "../errors.js";
import type { Block } from "./job.js";
import { killChildren } from "./kill-children.js";
import type { HookInfo } from "./load.js";
import type { FromWorker, WorkerStart } from "./messages.js";
import { Cell, createCells, monotonicMs, RowState } from "./shared-memory.js";

export type Seat = {
  worker: Worker;
  cells: Int32Array;
  blocks: Map<number, Block>;
  isReady: boolean;
  isGone: boolean;
  threadPath: string | null;
  lastBeat: number;
  beatMs: number;
};

/** What a worker says once it works. */
export type BlockNews = Exclude<FromWorker, { type: "ready" | "load-failed" }>;

export type SeatEvents = {
  ready(seat: Seat): void;
  heard(seat: Seat, news: BlockNews): void;
  /** The thread ended by itself, with an error or without. */
  died(seat: Seat, error: NodeJS.ErrnoException | null): void;
};

/** How long a thread may take to end before its child processes are killed. */
const REAP_MS = 150;
/** How long an event loop may be still before the code in it counts as stuck. */
const STALE_MS = 50;
/** What is added to the deadline where nobody knows whose code it is that blocks the thread. */
const UNKNOWN_GRACE_MS = 1_000;

/** A thread that has no hooks yet. */
export type BareWorker = { worker: Worker; cells: SharedArrayBuffer };

export function bareWorker(workerFile: URL | string, heapMb: number): BareWorker {
  const cells = createCells();
  const worker = new Worker(workerFile, {
    workerData: cells,
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: heapMb },
  });
  return { worker, cells };
}

export function hireSeat(
  { worker, cells }: BareWorker,
  start: WorkerStart,
  events: SeatEvents,
): { seat: Seat; isReady: Promise<HookInfo> } {
  worker.postMessage(start);
  const seat: Seat = {
    worker,
    cells: new Int32Array(cells),
    blocks: new Map(),
    isReady: false,
    isGone: false,
    threadPath: null,
    lastBeat: 0,
    beatMs: monotonicMs(),
  };
  return { seat, isReady: listen(seat, events) };
}

function listen(seat: Seat, events: SeatEvents): Promise<HookInfo> {
  return new Promise((resolve, reject) => {
    seat.worker.on("message", (message: FromWorker) => {
      if (message.type === "ready") {
        seat.isReady = true;
        seat.threadPath = message.threadPath;
        resolve(message.info);
        events.ready(seat);
      } else if (message.type === "load-failed") {
        reject(new HookError(message.message, { code: message.code, hint: message.hint }));
      } else events.heard(seat, message);
    });
    seat.worker.on("error", (error: NodeJS.ErrnoException) => {
      reject(error);
      events.died(seat, error);
    });
    seat.worker.on("exit", (code) => {
      const what = `a hook worker ended with code ${code} while it loaded`;
      reject(new HookError(what, { code: "hook-load" }));
      events.died(seat, null);
    });
  });
}

/** Ends a worker; a thread held by a blocking child process ends when the child is killed. */
export async function terminateSeat(seat: Seat, log: (line: string) => void): Promise<void> {
  seat.isGone = true;
  const reaper = setTimeout(() => killChildren(seat.threadPath, log), REAP_MS);
  await seat.worker.terminate();
  clearTimeout(reaper);
}

/** The row whose code runs in a worker now; null when none does, or nobody knows. */
export function rowInside(seat: Seat): { block: Block; row: number } | null {
  const row = Atomics.load(seat.cells, Cell.ROW);
  const block = seat.blocks.get(Atomics.load(seat.cells, Cell.BLOCK));
  return block !== undefined && row >= 0 ? { block, row } : null;
}

/** Whether a worker is stuck past a row's deadline: its event loop stands still. Call it every few milliseconds. */
export function isStuck(seat: Seat, now: number, timeoutMs: number): boolean {
  const beat = Atomics.load(seat.cells, Cell.HEARTBEAT);
  if (beat !== seat.lastBeat) {
    seat.lastBeat = beat;
    seat.beatMs = now;
    return false;
  }
  const staleMs = now - seat.beatMs;
  const inside = rowInside(seat);
  if (inside === null) return staleMs >= timeoutMs + UNKNOWN_GRACE_MS;
  // Only async rows note when they started; a synchronous one started at the last beat.
  const startedMs = inside.block.job.memory.starts[inside.row] ?? 0;
  if (startedMs === 0) return staleMs >= timeoutMs;
  return staleMs >= STALE_MS && now >= startedMs + timeoutMs;
}

export function holdsExclusive(seat: Seat, isExclusive: (block: Block) => boolean): boolean {
  for (const block of seat.blocks.values()) if (isExclusive(block)) return true;
  return false;
}

export function openRowsOf(seat: Seat): number {
  let rows = 0;
  for (const block of seat.blocks.values()) rows += block.to - block.from;
  return rows;
}

export function leastLoaded(seats: Seat[], load: (seat: Seat) => number): Seat | null {
  let best: Seat | null = null;
  for (const seat of seats) if (best === null || load(seat) < load(best)) best = seat;
  return best;
}

/** The rows of a block that were started and have no result. */
export function runningRows({ job, from, to }: Block): number[] {
  const rows: number[] = [];
  for (let row = from; row < to; row++) {
    if (job.memory.states[row] === RowState.RUNNING) rows.push(row);
  }
  return rows;
}
