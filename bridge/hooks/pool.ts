/** Runs requests on the crew's workers: who works on what, who is late, who is to blame. */
import { HookError } from "../errors.js";
import type { Op } from "../wire.js";
import { Crew, type CrewOptions } from "./crew.js";
import { blockRows, type DispatchRules, isCareful, mustRunFirst, seatFor } from "./dispatch.js";
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
import type { HookInfo } from "./load.js";
import type { ToWorker } from "./messages.js";
import { batchTimedOut, crashed, failed, outOfMemory, timedOut, type Where } from "./result.js";
import { type BlockNews, isStuck, rowInside, runningRows, type Seat } from "./seat.js";
import { Answer, monotonicMs, RequestCell, RequestMemories, RowState } from "./shared-memory.js";
import type { Failed } from "./types.js";

export type PoolOptions = CrewOptions & {
  /** Rows that were running when an earlier host died: never run again. */
  accused: Map<bigint, Set<number>>;
  /** Ops known to be async from an earlier host. */
  asyncOps: Op[];
  onAsync?: (op: Op) => void;
};

const TICK_MS = 10;

export class Pool {
  readonly #options: PoolOptions;
  readonly #crew: Crew;
  readonly #queue: Block[] = [];
  readonly #jobs = new Set<Job>();
  readonly #memories = new RequestMemories();
  readonly #asyncOps: Set<Op>;
  /** Milliseconds a row of a synchronous op takes, as a moving average. */
  readonly #costMs = new Map<Op, number>();
  /** Once the hooks are loaded. */
  #rules: DispatchRules | null = null;
  #nextBlock = 1;
  #nextJob = 1;
  #ticker: NodeJS.Timeout | null = null;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#asyncOps = new Set(options.asyncOps);
    this.#crew = new Crew(options, {
      ready: () => this.#pump(),
      heard: (seat, news) => this.#hear(seat, news),
      died: (seat, error) => this.#died(seat, error),
      lost: (error) => {
        for (const job of [...this.#jobs]) this.#fail(job, error);
      },
    });
  }

  /** Starts the workers; resolves when the first can work, rejects with the HookError of hooks that can't be loaded. */
  async start(): Promise<HookInfo> {
    const info = await this.#crew.start();
    this.#rules = {
      limits: this.#options.limits,
      info,
      hasJournal: this.#options.journalDir !== null,
      asyncOps: this.#asyncOps,
      costMs: this.#costMs,
    };
    return info;
  }

  /** Runs a request's rows; always resolves with a result a row, unless the request itself is broken. */
  run(request: PoolRequest, signal: AbortSignal): Promise<PoolReply> {
    return new Promise((resolve, reject) => {
      const dueMs = monotonicMs() + this.#options.limits.batchTimeoutMs;
      const memory = this.#memories.take(request.rows);
      const job = createJob(this.#nextJob++, request, memory, dueMs, { resolve, reject });
      if (request.rows === 0) {
        resolve({ values: job.memory.values, others: job.others, isSent: false });
        return;
      }
      this.#crew.expectWork();
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
    this.#crew.tell({ type: "lane-closed", lane });
  }

  async close(): Promise<void> {
    if (this.#ticker !== null) clearInterval(this.#ticker);
    await this.#crew.close();
  }

  // --- blocks -------------------------------------------------------------------------------------

  /** Queues the waiting rows among from..to-1. */
  #enqueueRows(job: Job, from: number, to: number): void {
    if (this.#rules === null) return;
    const rows = blockRows(this.#rules, job.request);
    for (const [first, end] of waitingRuns(job, rows, from, to)) {
      this.#queue.push(this.#newBlock(job, first, end));
    }
  }

  #newBlock(job: Job, from: number, to: number): Block {
    return { id: this.#nextBlock++, job, from, to, isAlone: false, arenas: [] };
  }

  #pump(): void {
    const rules = this.#rules;
    if (rules === null) return;
    for (let i = 0; i < this.#queue.length; ) {
      const block = this.#queue[i] as Block;
      if (block.job.isClosed) {
        this.#queue.splice(i, 1);
        continue;
      }
      const seat = seatFor(rules, this.#crew.seats, block);
      if (seat === null) {
        if (mustRunFirst(rules, block)) return;
        i += 1;
        continue;
      }
      this.#queue.splice(i, 1);
      this.#hand(seat, block, isCareful(rules, block.job.request));
    }
  }

  #hand(seat: Seat, block: Block, isNoted: boolean): void {
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
      journalId: isNoted ? request.id : null,
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
    // Its client has the values, and all its blocks are closed in their workers.
    if (isSent && job.heldBlocks === 0) this.#memories.giveBack(job.memory);
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

  /** A worker ended by itself: out of memory, process.exit, or a fault of its own. */
  #died(seat: Seat, error: NodeJS.ErrnoException | null): void {
    const isMemory = error?.code === "ERR_WORKER_OUT_OF_MEMORY";
    const { heapMb } = this.#options.limits;
    this.#bury(seat, (where) =>
      isMemory
        ? outOfMemory(where, heapMb)
        : crashed(where, `ended its thread${error ? ` (${error.message})` : ""}`),
    );
  }

  /**
   * Takes a replaced worker's blocks back: the row whose code ran gets `verdict`, finished rows count, the others wait again.
   * Where nobody knows whose code ran, every row that was under way runs once more by itself.
   */
  #bury(seat: Seat, verdict: (where: Where) => Failed): void {
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
    for (const seat of [...this.#crew.seats]) {
      if (seat.isGone || seat.blocks.size === 0 || !isStuck(seat, now, timeoutMs)) continue;
      this.#stop(seat, (where) => timedOut(where, timeoutMs));
    }
    for (const job of [...this.#jobs]) if (now >= job.dueMs) this.#expire(job);
  }

  #stop(seat: Seat, verdict: (where: Where) => Failed): void {
    this.#crew.replace(seat);
    this.#bury(seat, verdict);
    this.#crew.end(seat);
  }

  #expire(job: Job): void {
    const { request } = job;
    const { batchTimeoutMs } = this.#options.limits;
    for (const seat of this.#crew.seats) {
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
    for (const seat of [...this.#crew.seats]) {
      if (seat.isGone || rowInside(seat)?.block.job !== job) continue;
      this.#stop(seat, (where) => failed("timeout", `${where.hook} was stopped`));
    }
  }
}
