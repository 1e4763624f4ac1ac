/** The worker threads that run hooks: who works on what, who is late, who is to blame, who takes over. */
import { Worker } from "node:worker_threads";
import { HookError } from "../errors.js";
import type { Op } from "../wire.js";
import { killChildren } from "./kill-children.js";
import { asyncPlan } from "./limits.js";
import type { HookInfo } from "./load.js";
import type { FromWorker, Limits, ModuleSet, ToWorker, WorkerStart } from "./messages.js";
import type { RowResult } from "./ops.js";
import { batchTimedOut, crashed, failed, outOfMemory, timedOut, type Where } from "./result.js";
import {
  Cell,
  createCells,
  createRequestMemory,
  monotonicMs,
  openArena,
  type RequestMemory,
  RowState,
  readArena,
} from "./shared-memory.js";
import type { Failed } from "./types.js";

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
};

/** A request's results: plain scores by row, and all others by row number. */
export type PoolReply = { values: Float64Array; others: Map<number, Exclude<RowResult, number>> };

export type PoolOptions = {
  workerFile: URL | string;
  modules: ModuleSet;
  limits: Limits;
  logFile: string | null;
  /** Folder for the journals of rows; null keeps none. */
  journalDir: string | null;
  /** Rows that were running when an earlier host died: never run again. */
  accused: Map<bigint, Set<number>>;
  /** Ops known to be async from an earlier host. */
  asyncOps: Op[];
  onAsync?: (op: Op) => void;
  log: (line: string) => void;
};

type Job = {
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

type Block = {
  id: number;
  job: Job;
  from: number;
  to: number;
  /** Runs with no other block in its worker: its row is suspected of taking workers down. */
  isAlone: boolean;
  arenas: SharedArrayBuffer[];
};

type Seat = {
  worker: Worker;
  cells: Int32Array;
  blocks: Map<number, Block>;
  isReady: boolean;
  isGone: boolean;
  threadPath: string | null;
  lastBeat: number;
  beatMs: number;
  journalIndex: number;
};

const TICK_MS = 10;
/** How long a thread may take to end before its child processes are killed. */
const REAP_MS = 150;
const STALE_MS = 50;
const MAX_LOAD_FAILURES = 3;
const BLOCK_MS = 4;
const CHEAP_MS = 1.5;

export class Pool {
  readonly #options: PoolOptions;
  readonly #seats: Seat[] = [];
  #spare: Seat | null = null;
  readonly #queue: Block[] = [];
  readonly #jobs = new Set<Job>();
  readonly #asyncOps: Set<Op>;
  /** Milliseconds a row of a synchronous op takes, as a moving average. */
  readonly #costMs = new Map<Op, number>();
  #nextBlock = 1;
  #nextJob = 1;
  #ticker: NodeJS.Timeout | null = null;
  #info: HookInfo | null = null;
  #loadFailures = 0;
  #isClosed = false;
  #seatCount = 0;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#asyncOps = new Set(options.asyncOps);
  }

  /** Starts the workers; resolves when the first can work, rejects with the HookError of hooks that can't be loaded. */
  async start(): Promise<HookInfo> {
    const first = this.#hire();
    this.#seats.push(first.seat);
    this.#info = await first.isReady;
    while (this.#seats.length < this.#options.limits.workers) this.#seats.push(this.#hire().seat);
    this.#spare = this.#hire().seat;
    return this.#info;
  }

  /** Runs a request's rows; always resolves with a result a row, unless the request itself is broken. */
  run(request: PoolRequest, signal: AbortSignal): Promise<PoolReply> {
    return new Promise((resolve, reject) => {
      const job: Job = {
        id: this.#nextJob++,
        request,
        memory: createRequestMemory(request.rows),
        others: new Map(),
        openRows: request.rows,
        dueMs: monotonicMs() + this.#options.limits.batchTimeoutMs,
        isClosed: false,
        heldBlocks: 0,
        forget: () => {},
        resolve,
        reject,
      };
      if (request.rows === 0) {
        resolve({ values: job.memory.values, others: job.others });
        return;
      }
      this.#jobs.add(job);
      const cancel = (): void => this.#cancel(job);
      signal.addEventListener("abort", cancel, { once: true });
      job.forget = () => signal.removeEventListener("abort", cancel);
      for (const row of this.#options.accused.get(request.id) ?? []) {
        if (row < request.rows)
          this.#convict(job, row, crashed(request.where(row), "took the hook host down"));
      }
      this.#enqueueRows(job, this.#blockRows(request), 0, request.rows);
      this.#tickWhileBusy();
      this.#pump();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#ticker !== null) clearInterval(this.#ticker);
    const seats = [...this.#seats, ...(this.#spare === null ? [] : [this.#spare])];
    await Promise.all(seats.map((seat) => this.#terminate(seat)));
  }

  // --- blocks -------------------------------------------------------------------------------------

  #blockRows(request: PoolRequest): number {
    const { rows, op } = request;
    if (this.#isCareful(request)) return rows;
    const { limits } = this.#options;
    const isAsync = this.#asyncOps.has(op) && this.#info !== null;
    const workers = isAsync
      ? asyncPlan(op, this.#info as HookInfo, limits).workers
      : limits.workers;
    const even = Math.ceil(rows / workers);
    const cost = this.#costMs.get(op);
    if (isAsync || cost === undefined) return even;
    if (cost * rows <= CHEAP_MS) return rows;
    return Math.max(1, Math.min(even, Math.ceil(BLOCK_MS / cost)));
  }

  /** Whether a request's rows run one by one, noted in the journal: it was there when a host died. */
  #isCareful(request: PoolRequest): boolean {
    if (this.#options.journalDir === null) return false;
    // The host may have been killed for another reason, and a slow async hook one by one takes very long.
    return request.attempt >= (this.#asyncOps.has(request.op) ? 2 : 1);
  }

  /** Queues the waiting rows among from..to-1, in blocks of so many. */
  #enqueueRows(job: Job, blockRows: number, from: number, to: number): void {
    const { states } = job.memory;
    let row = from;
    while (row < to) {
      let end = row;
      while (end < to && end - row < blockRows && states[end] === RowState.WAITING) end += 1;
      if (end > row) this.#queue.push(this.#newBlock(job, row, end));
      row = Math.max(end, row + 1);
    }
  }

  #newBlock(job: Job, from: number, to: number): Block {
    return { id: this.#nextBlock++, job, from, to, isAlone: false, arenas: [] };
  }

  #pump(): void {
    for (let i = 0; i < this.#queue.length; ) {
      const block = this.#queue[i] as Block;
      if (block.job.isClosed) {
        this.#queue.splice(i, 1);
        continue;
      }
      const seat = this.#seatFor(block);
      if (seat === null) {
        if (this.#mustRunFirst(block)) return;
        i += 1;
        continue;
      }
      this.#queue.splice(i, 1);
      this.#hand(seat, block);
    }
  }

  #mustRunFirst(block: Block): boolean {
    // Later blocks of the same op would find no seat either; and a careful one waits for an idle pool.
    return (
      block.isAlone ||
      this.#isCareful(block.job.request) ||
      !this.#asyncOps.has(block.job.request.op)
    );
  }

  #seatFor(block: Block): Seat | null {
    const open = this.#seats.filter((seat) => seat.isReady && !seat.isGone);
    const careful = this.#isCareful(block.job.request);
    if (open.some((seat) => holdsExclusive(seat, (b) => this.#isCareful(b.job.request))))
      return null;
    if (careful) return open.every((seat) => seat.blocks.size === 0) ? (open[0] ?? null) : null;
    const free = open.filter((seat) => !holdsExclusive(seat, (b) => b.isAlone));
    if (block.isAlone) return free.find((seat) => seat.blocks.size === 0) ?? null;
    const op = block.job.request.op;
    if (this.#asyncOps.has(op) && this.#info !== null) {
      const plan = asyncPlan(op, this.#info, this.#options.limits);
      const able = free.slice(0, plan.workers).filter((seat) => openRowsOf(seat) < 2 * plan.share);
      return leastLoaded(able, openRowsOf);
    }
    return leastLoaded(
      free.filter((seat) => seat.blocks.size < 2),
      (seat) => seat.blocks.size,
    );
  }

  #hand(seat: Seat, block: Block): void {
    const { request, memory } = block.job;
    if (seat.blocks.size === 0) seat.beatMs = monotonicMs();
    seat.blocks.set(block.id, block);
    block.job.heldBlocks += 1;
    const message: ToWorker = {
      type: "block",
      block: block.id,
      job: block.job.id,
      op: request.op,
      rows: request.rows,
      from: block.from,
      to: block.to,
      payload: request.payload,
      memory: memory.buffer,
      journalId: this.#isCareful(request) ? request.id : null,
    };
    seat.worker.postMessage(message);
  }

  /** Counts a block's finished rows and drops the block; its unfinished rows stay as they are. */
  #retire(seat: Seat, block: Block): void {
    seat.blocks.delete(block.id);
    const { job } = block;
    if (job.isClosed) return;
    for (let row = block.from; row < block.to; row++) {
      const state = job.memory.states[row];
      if (state === RowState.PLAIN || state === RowState.OTHER) job.openRows -= 1;
    }
    if (job.openRows === 0) this.#finish(job);
  }

  #finish(job: Job): void {
    this.#close(job);
    job.resolve({ values: job.memory.values, others: job.others });
  }

  #close(job: Job): void {
    job.isClosed = true;
    job.forget();
    job.memory.cancelled[0] = 1;
    this.#jobs.delete(job);
    if (this.#jobs.size === 0 && this.#ticker !== null) {
      clearInterval(this.#ticker);
      this.#ticker = null;
    }
  }

  #cancel(job: Job): void {
    if (job.isClosed) return;
    this.#close(job);
    this.#freeSeatsOf(job);
    job.reject(new HookError("the request's connection closed", { code: "cancelled" }));
  }

  /** Gives a row that no block holds its final failure. */
  #convict(job: Job, row: number, failure: Failed): void {
    job.memory.states[row] = RowState.OTHER;
    job.others.set(row, failure);
    job.openRows -= 1;
    if (job.openRows === 0) this.#finish(job);
  }

  // --- workers ------------------------------------------------------------------------------------

  #hire(): { seat: Seat; isReady: Promise<HookInfo> } {
    const { limits, modules, logFile, journalDir, workerFile } = this.#options;
    const cells = createCells();
    const journalIndex = this.#seatCount++;
    const start: WorkerStart = {
      modules,
      limits,
      cells,
      logFile,
      journalFile: journalDir === null ? null : `${journalDir}/journal-${journalIndex}`,
    };
    const worker = new Worker(workerFile, {
      workerData: start,
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: limits.heapMb },
    });
    const seat: Seat = {
      worker,
      cells: new Int32Array(cells),
      blocks: new Map(),
      isReady: false,
      isGone: false,
      threadPath: null,
      lastBeat: 0,
      beatMs: monotonicMs(),
      journalIndex,
    };
    const isReady = new Promise<HookInfo>((resolve, reject) => {
      worker.on("message", (message: FromWorker) => {
        if (message.type === "ready") {
          seat.isReady = true;
          seat.threadPath = message.threadPath;
          this.#loadFailures = 0;
          resolve(message.info);
          this.#pump();
        } else if (message.type === "load-failed") {
          reject(new HookError(message.message, { code: message.code, hint: message.hint }));
        } else this.#hear(seat, message);
      });
      worker.on("error", (error: NodeJS.ErrnoException) => {
        reject(error);
        this.#died(seat, error);
      });
      worker.on("exit", (code) => {
        reject(
          new HookError(`a hook worker ended with code ${code} while it loaded`, {
            code: "hook-load",
          }),
        );
        this.#died(seat, null);
      });
    });
    // A spare's failure shows when it is needed; the first ones are awaited by start().
    isReady.catch((error: Error) => this.#loadFailed(seat, error));
    return { seat, isReady };
  }

  #hear(seat: Seat, message: FromWorker): void {
    if (message.type === "async") {
      if (!this.#asyncOps.has(message.op)) {
        this.#asyncOps.add(message.op);
        this.#options.onAsync?.(message.op);
      }
      this.#pump();
      return;
    }
    if (message.type !== "arena" && message.type !== "done" && message.type !== "bad-block") return;
    const block = seat.blocks.get(message.block);
    if (block === undefined) return;
    if (message.type === "arena") {
      block.arenas.push(message.buffer);
      return;
    }
    block.job.heldBlocks -= 1;
    if (message.type === "bad-block") {
      seat.blocks.delete(block.id);
      if (!block.job.isClosed) {
        this.#close(block.job);
        block.job.reject(new HookError(message.reason, { code: "bad-frame" }));
      }
    } else {
      this.#noteCost(block, message.busyMs);
      absorb(block);
      this.#retire(seat, block);
    }
    releaseIfUnread(block.job);
    this.#pump();
  }

  #noteCost(block: Block, busyMs: number): void {
    const { op } = block.job.request;
    const cost = busyMs / (block.to - block.from);
    const before = this.#costMs.get(op);
    this.#costMs.set(op, before === undefined ? cost : before * 0.8 + cost * 0.2);
  }

  #loadFailed(seat: Seat, error: Error): void {
    if (this.#isClosed || this.#info === null) return;
    seat.isGone = true;
    this.#loadFailures += 1;
    this.#options.log(`a hook worker could not be started again: ${error.message}`);
    if (this.#loadFailures > MAX_LOAD_FAILURES) {
      for (const job of [...this.#jobs]) {
        this.#close(job);
        job.reject(
          new HookError(`the hooks can't be loaded again: ${error.message}`, { code: "hook-load" }),
        );
      }
      this.#loadFailures = 0;
    }
    this.#replace(seat);
  }

  /** Puts the spare on a seat that is no longer used, and hires a new spare. */
  #replace(seat: Seat): void {
    const index = this.#seats.indexOf(seat);
    if (this.#isClosed) return;
    if (index === -1) {
      if (this.#spare === seat) this.#spare = this.#hire().seat;
      return;
    }
    this.#seats[index] = this.#spare ?? this.#hire().seat;
    this.#spare = this.#hire().seat;
  }

  /** A worker ended by itself: out of memory, process.exit, or a fault of its own. */
  #died(seat: Seat, error: NodeJS.ErrnoException | null): void {
    if (seat.isGone || !seat.isReady) return;
    const isMemory = error?.code === "ERR_WORKER_OUT_OF_MEMORY";
    const { heapMb } = this.#options.limits;
    this.#bury(seat, (where) =>
      isMemory
        ? outOfMemory(where, heapMb)
        : crashed(where, `ended its thread${error ? ` (${error.message})` : ""}`),
    );
  }

  /**
   * Takes a worker's blocks back: the row whose code ran gets `verdict`, finished rows count, the others wait again.
   * Where nobody knows whose code ran, every row that was under way runs once more by itself.
   */
  #bury(seat: Seat, verdict: (where: Where) => Failed): void {
    seat.isGone = true;
    this.#replace(seat);
    const blocks = [...seat.blocks.values()];
    for (const block of blocks) absorb(block);
    const culprit = this.#culpritOf(seat);
    if (culprit !== null && !culprit.block.job.isClosed) {
      const { block, row } = culprit;
      const { others, memory, request } = block.job;
      // The worker itself may have left the better word, such as process.exit(3).
      if (others.get(row)?.kind !== "failed") others.set(row, verdict(request.where(row)));
      memory.states[row] = RowState.OTHER;
    }
    for (const block of blocks) {
      this.#retire(seat, block);
      if (!block.job.isClosed) this.#requeue(block, culprit !== null);
    }
    this.#pump();
  }

  #culpritOf(seat: Seat): { block: Block; row: number } | null {
    const row = Atomics.load(seat.cells, Cell.ROW);
    const block = seat.blocks.get(Atomics.load(seat.cells, Cell.BLOCK));
    if (block !== undefined && row >= 0) return { block, row };
    const alone = [...seat.blocks.values()].find((each) => each.isAlone);
    return alone === undefined ? null : { block: alone, row: alone.from };
  }

  #requeue(block: Block, isCulpritKnown: boolean): void {
    const { states } = block.job.memory;
    const suspects: number[] = [];
    for (let row = block.from; row < block.to; row++) {
      if (states[row] !== RowState.RUNNING) continue;
      if (!isCulpritKnown) suspects.push(row);
      else states[row] = RowState.WAITING;
    }
    this.#enqueueRows(block.job, this.#blockRows(block.job.request), block.from, block.to);
    for (const row of suspects) {
      states[row] = RowState.WAITING;
      this.#queue.push({ ...this.#newBlock(block.job, row, row + 1), isAlone: true });
    }
  }

  // --- deadlines ----------------------------------------------------------------------------------

  #tickWhileBusy(): void {
    if (this.#ticker === null && this.#jobs.size > 0) {
      this.#ticker = setInterval(() => this.#tick(), TICK_MS);
    }
  }

  #tick(): void {
    const now = monotonicMs();
    for (const seat of [...this.#seats])
      if (!seat.isGone && seat.blocks.size > 0) this.#check(seat, now);
    for (const job of [...this.#jobs]) if (now >= job.dueMs) this.#expire(job);
  }

  #check(seat: Seat, now: number): void {
    const beat = Atomics.load(seat.cells, Cell.HEARTBEAT);
    if (beat !== seat.lastBeat) {
      seat.lastBeat = beat;
      seat.beatMs = now;
      return;
    }
    const { timeoutMs } = this.#options.limits;
    const staleMs = now - seat.beatMs;
    const row = Atomics.load(seat.cells, Cell.ROW);
    const block = seat.blocks.get(Atomics.load(seat.cells, Cell.BLOCK));
    const isKnown = row >= 0 && block !== undefined;
    const startedMs = isKnown ? (block.job.memory.starts[row] ?? 0) : 0;
    const isLate =
      startedMs > 0 ? staleMs >= STALE_MS && now >= startedMs + timeoutMs : staleMs >= timeoutMs;
    if (!isLate) return;
    if (!isKnown && ![...seat.blocks.values()].some(isUnderWay)) return;
    this.#bury(seat, (where) => timedOut(where, timeoutMs));
    void this.#terminate(seat);
  }

  #expire(job: Job): void {
    const { request, memory } = job;
    const { batchTimeoutMs } = this.#options.limits;
    for (const seat of this.#seats) {
      for (const block of [...seat.blocks.values()]) if (block.job === job) absorb(block);
    }
    for (let row = 0; row < request.rows; row++) {
      const state = memory.states[row];
      if (state === RowState.PLAIN || state === RowState.OTHER) continue;
      job.others.set(row, batchTimedOut(request.where(row), batchTimeoutMs));
    }
    this.#finish(job);
    this.#freeSeatsOf(job);
  }

  /** Ends the workers that are stuck in a row of a job that nobody waits for. */
  #freeSeatsOf(job: Job): void {
    for (const seat of [...this.#seats]) {
      const block = seat.blocks.get(Atomics.load(seat.cells, Cell.BLOCK));
      const isInside = Atomics.load(seat.cells, Cell.ROW) >= 0 && block?.job === job;
      if (!isInside || seat.isGone) continue;
      this.#bury(seat, (where) => failed("timeout", `${where.hook} was stopped`));
      void this.#terminate(seat);
    }
  }

  /** Ends a worker; a thread held by a blocking child process ends when the child is killed. */
  async #terminate(seat: Seat): Promise<void> {
    seat.isGone = true;
    const reaper = setTimeout(() => killChildren(seat.threadPath, this.#options.log), REAP_MS);
    await seat.worker.terminate();
    clearTimeout(reaper);
  }
}

/** Reads what a worker left of the block's results that are no plain scores; later entries win. */
function absorb(block: Block): void {
  for (const arena of block.arenas) {
    for (const entry of readArena(openArena(arena))) {
      const [row, result] = entry as [number, Exclude<RowResult, number>];
      block.job.others.set(row, result);
    }
  }
}

/** A block that a killed worker held stays counted, and its payload is left to the garbage collector. */
function releaseIfUnread(job: Job): void {
  if (job.isClosed && job.heldBlocks === 0) job.request.release();
}

function holdsExclusive(seat: Seat, isExclusive: (block: Block) => boolean): boolean {
  for (const block of seat.blocks.values()) if (isExclusive(block)) return true;
  return false;
}

function openRowsOf(seat: Seat): number {
  let rows = 0;
  for (const block of seat.blocks.values()) rows += block.to - block.from;
  return rows;
}

function leastLoaded(seats: Seat[], load: (seat: Seat) => number): Seat | null {
  let best: Seat | null = null;
  for (const seat of seats) if (best === null || load(seat) < load(best)) best = seat;
  return best;
}

function isUnderWay(block: Block): boolean {
  for (let row = block.from; row < block.to; row++) {
    if (block.job.memory.states[row] === RowState.RUNNING) return true;
  }
  return false;
}
