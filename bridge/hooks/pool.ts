/** The worker threads that run hooks: who works on what, who is late, who is to blame, who takes over. */
import { HookError } from "../errors.js";
import type { Op } from "../wire.js";
import {
  absorb,
  type Block,
  canSend,
  createJob,
  isFinished,
  type Job,
  type PoolReply,
  type PoolRequest,
  releaseIfUnread,
  waitingRuns,
} from "./job.js";
import { asyncPlan } from "./limits.js";
import type { HookInfo } from "./load.js";
import type { Limits, ModuleSet, ToWorker, WorkerStart } from "./messages.js";
import { batchTimedOut, crashed, failed, outOfMemory, timedOut, type Where } from "./result.js";
import {
  type BareWorker,
  type BlockNews,
  bareWorker,
  hireSeat,
  holdsExclusive,
  isStuck,
  leastLoaded,
  openRowsOf,
  rowInside,
  runningRows,
  type Seat,
  type SeatEvents,
  terminateSeat,
} from "./seat.js";
import { Answer, monotonicMs, RequestCell, RowState } from "./shared-memory.js";
import type { Failed } from "./types.js";

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
  /** The first worker, where one waits already; null starts it. */
  first: BareWorker | null;
  /** The other workers start so much later than the first one is ready. */
  restDelayMs: number;
  log: (line: string) => void;
};

const TICK_MS = 10;
const MAX_LOAD_FAILURES = 3;
const LOAD_RETRY_MS = 500;
/** A block of a synchronous hook should take about so long. */
const BLOCK_MS = 4;
/** A request cheaper than this isn't worth dividing. */
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
    const { first, restDelayMs } = this.#options;
    const { seat, isReady } = this.#hire(first);
    this.#seats.push(seat);
    this.#info = await isReady;
    if (restDelayMs === 0) this.#hireRest();
    else setTimeout(() => this.#hireRest(), restDelayMs);
    return this.#info;
  }

  #hireRest(): void {
    if (this.#isClosed) return;
    while (this.#seats.length < this.#options.limits.workers) this.#seats.push(this.#hire().seat);
    this.#spare ??= this.#hire().seat;
  }

  /** Runs a request's rows; always resolves with a result a row, unless the request itself is broken. */
  run(request: PoolRequest, signal: AbortSignal): Promise<PoolReply> {
    return new Promise((resolve, reject) => {
      const dueMs = monotonicMs() + this.#options.limits.batchTimeoutMs;
      const job = createJob(this.#nextJob++, request, dueMs, { resolve, reject });
      if (request.rows === 0) {
        resolve({ values: job.memory.values, others: job.others, isSent: false });
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
      this.#enqueueRows(job, 0, request.rows);
      this.#tickWhileBusy();
      this.#pump();
    });
  }

  /** A connection's pipe is no longer there. */
  forgetLane(lane: number): void {
    for (const { worker } of this.#seats) {
      worker.postMessage({ type: "lane-closed", lane } satisfies ToWorker);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#ticker !== null) clearInterval(this.#ticker);
    const seats = [...this.#seats, ...(this.#spare === null ? [] : [this.#spare])];
    await Promise.all(seats.map((seat) => terminateSeat(seat, this.#options.log)));
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

  /** Queues the waiting rows among from..to-1. */
  #enqueueRows(job: Job, from: number, to: number): void {
    for (const [first, end] of waitingRuns(job, this.#blockRows(job.request), from, to)) {
      this.#queue.push(this.#newBlock(job, first, end));
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
      lane: canSend(request) ? request.lane : null,
    };
    seat.worker.postMessage(message);
  }

  /** Counts a block's finished rows and drops the block; its unfinished rows stay as they are. */
  #retire(seat: Seat, block: Block): void {
    seat.blocks.delete(block.id);
    const { job } = block;
    if (job.isClosed) return;
    for (let row = block.from; row < block.to; row++) if (isFinished(job, row)) job.openRows -= 1;
    if (job.openRows === 0) this.#finish(job);
  }

  #finish(job: Job): void {
    const isSent = this.#close(job) === Answer.SENT;
    job.resolve({ values: job.memory.values, others: job.others, isSent });
  }

  /** Gives what the answer was until now. One that a worker has just taken may be given twice: clients take the first. */
  #close(job: Job): number {
    job.isClosed = true;
    job.forget();
    job.memory.cells[RequestCell.CANCELLED] = 1;
    this.#jobs.delete(job);
    return Atomics.exchange(job.memory.cells, RequestCell.ANSWER, Answer.TAKEN);
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

  #hire(waiting: BareWorker | null = null): { seat: Seat; isReady: Promise<HookInfo> } {
    const { limits, modules, logFile, journalDir, workerFile } = this.#options;
    const number = this.#seatCount++;
    const journalFile = journalDir === null ? null : `${journalDir}/journal-${number}`;
    const worker = waiting ?? bareWorker(workerFile, limits.heapMb);
    const start: WorkerStart = { type: "start", modules, limits, logFile, journalFile };
    const hired = hireSeat(worker, start, this.#events);
    // The first one's failure is awaited by start(); later ones are tried again.
    hired.isReady.catch((error: Error) => this.#loadFailed(hired.seat, error));
    return hired;
  }

  readonly #events: SeatEvents = {
    ready: () => {
      this.#loadFailures = 0;
      this.#pump();
    },
    heard: (seat, news) => this.#hear(seat, news),
    died: (seat, error) => this.#died(seat, error),
  };

  #hear(seat: Seat, news: BlockNews): void {
    if (news.type === "async") {
      if (!this.#asyncOps.has(news.op)) this.#options.onAsync?.(news.op);
      this.#asyncOps.add(news.op);
      this.#pump();
      return;
    }
    const block = seat.blocks.get(news.block);
    if (block === undefined) return;
    if (news.type === "arena") {
      block.arenas.push(news.buffer);
      return;
    }
    block.job.heldBlocks -= 1;
    if (news.type === "done") {
      this.#noteCost(block, news.busyMs);
      absorb(block);
      this.#retire(seat, block);
    } else {
      seat.blocks.delete(block.id);
      this.#fail(block.job, new HookError(news.reason, { code: "bad-frame" }));
    }
    releaseIfUnread(block.job);
    this.#pump();
  }

  #fail(job: Job, error: HookError): void {
    if (job.isClosed) return;
    this.#close(job);
    job.reject(error);
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
      const what = `the hooks can't be loaded again: ${error.message}`;
      for (const job of [...this.#jobs])
        this.#fail(job, new HookError(what, { code: "hook-load" }));
    }
    setTimeout(() => this.#replace(seat), LOAD_RETRY_MS);
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
    const inside = rowInside(seat);
    if (inside !== null) return inside;
    const alone = [...seat.blocks.values()].find((each) => each.isAlone);
    return alone === undefined ? null : { block: alone, row: alone.from };
  }

  #requeue(block: Block, isCulpritKnown: boolean): void {
    const { job, from, to } = block;
    const running = runningRows(block);
    const suspects = isCulpritKnown ? [] : running;
    if (isCulpritKnown) for (const row of running) job.memory.states[row] = RowState.WAITING;
    this.#enqueueRows(job, from, to);
    for (const row of suspects) {
      job.memory.states[row] = RowState.WAITING;
      this.#queue.push({ ...this.#newBlock(job, row, row + 1), isAlone: true });
    }
  }

  // --- deadlines ----------------------------------------------------------------------------------

  #tickWhileBusy(): void {
    if (this.#ticker === null && this.#jobs.size > 0) {
      this.#ticker = setInterval(() => this.#tick(), TICK_MS);
    }
  }

  #tick(): void {
    if (this.#jobs.size === 0 && this.#ticker !== null) {
      clearInterval(this.#ticker);
      this.#ticker = null;
      return;
    }
    const now = monotonicMs();
    const { timeoutMs } = this.#options.limits;
    for (const seat of [...this.#seats]) {
      if (seat.isGone || seat.blocks.size === 0 || !isStuck(seat, now, timeoutMs)) continue;
      this.#stop(seat, (where) => timedOut(where, timeoutMs));
    }
    for (const job of [...this.#jobs]) if (now >= job.dueMs) this.#expire(job);
  }

  #stop(seat: Seat, verdict: (where: Where) => Failed): void {
    this.#bury(seat, verdict);
    void terminateSeat(seat, this.#options.log);
  }

  #expire(job: Job): void {
    const { request } = job;
    const { batchTimeoutMs } = this.#options.limits;
    for (const seat of this.#seats) {
      for (const block of [...seat.blocks.values()]) if (block.job === job) absorb(block);
    }
    for (let row = 0; row < request.rows; row++) {
      if (isFinished(job, row)) continue;
      job.others.set(row, batchTimedOut(request.where(row), batchTimeoutMs));
    }
    this.#finish(job);
    this.#freeSeatsOf(job);
  }

  /** Ends the workers that are inside a row of a job that nobody waits for. */
  #freeSeatsOf(job: Job): void {
    for (const seat of [...this.#seats]) {
      if (seat.isGone || rowInside(seat)?.block.job !== job) continue;
      this.#stop(seat, (where) => failed("timeout", `${where.hook} was stopped`));
    }
  }
}
