/** A worker thread: loads the hooks and runs blocks of rows, leaving every result in shared memory at once. */
import { createHook } from "node:async_hooks";
import { readlinkSync } from "node:fs";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { GenEnvError } from "../errors.js";
import type { Op } from "../wire.js";
import { Journal } from "./journal.js";
import { asyncPlan } from "./limits.js";
import { describeHooks, importHooks } from "./load.js";
import { redirectOutput } from "./log.js";
import type { BlockMessage, FromWorker, ToWorker, WorkerStart } from "./messages.js";
import { type Hooks, type OpBatch, openBatch, type RowResult } from "./ops.js";
import { LaneWriter } from "./reply-lane.js";
import { crashed, showValue, stackOf } from "./result.js";
import { currentRow, type RowContext, RowRunner, type RowSink } from "./row-runner.js";
import {
  Answer,
  type Arena,
  appendToArena,
  Cell,
  createArena,
  monotonicMs,
  openRequestMemory,
  RequestCell,
  type RequestMemory,
  RowState,
} from "./shared-memory.js";

const HEARTBEAT_MS = 10;
const FIRST_ARENA_BYTES = 1 << 16;

if (parentPort !== null) {
  const port = parentPort;
  port.once("message", (start: WorkerStart) => void main(port, start, workerData));
}

async function main(
  port: MessagePort,
  start: WorkerStart,
  cells: SharedArrayBuffer,
): Promise<void> {
  const post = (message: FromWorker): void => port.postMessage(message);
  redirectOutput(start.logFile);
  try {
    const hooks = await importHooks(start.modules);
    const worker = new HookWorker(start, hooks, cells, post);
    port.on("message", (message: ToWorker) => worker.hear(message));
    post({ type: "ready", info: describeHooks(hooks), threadPath: threadPath() });
  } catch (error) {
    const { code, hint } = error instanceof GenEnvError ? error : { code: "hook-load", hint: null };
    post({ type: "load-failed", code, message: (error as Error).message, hint });
  }
}

/** This thread's folder under /proc, by which its child processes are found; null where there is none. */
function threadPath(): string | null {
  try {
    return `/proc/${readlinkSync("/proc/thread-self")}`;
  } catch {
    return null;
  }
}

type OpenBlock = RowSink & {
  message: BlockMessage;
  memory: RequestMemory;
  /** Its results are the pool's, and its memory may be another request's by now. */
  isClosed: boolean;
  /** Replaces whatever result the row has. */
  overrule(row: number, result: RowResult): void;
};

class HookWorker {
  readonly #start: WorkerStart;
  readonly #hooks: Hooks;
  readonly #post: (message: FromWorker) => void;
  readonly #cells: Int32Array;
  readonly #runners = new Map<Op, RowRunner>();
  readonly #journal: Journal;
  #heart: NodeJS.Timeout | null = null;
  #openBlocks = 0;
  /** Whose promise, timer or callback ran last. */
  #lastContext: RowContext | null = null;
  /** The last request's batch: its other blocks need not decode it again. */
  #lastBatch: { job: number; batch: OpBatch } | null = null;
  readonly #lanes = new LaneWriter();

  constructor(
    start: WorkerStart,
    hooks: Hooks,
    cells: SharedArrayBuffer,
    post: (message: FromWorker) => void,
  ) {
    this.#start = start;
    this.#hooks = hooks;
    this.#post = post;
    this.#cells = new Int32Array(cells);
    this.#journal = new Journal(start.journalFile);
    this.#watchContext();
    this.#watchCrashes();
  }

  hear(message: ToWorker): void {
    if (message.type === "block") this.#runBlock(message);
    else if (message.type === "lane-closed") this.#lanes.close(message.lane);
  }

  #runBlock(message: BlockMessage): void {
    const startedMs = monotonicMs();
    let block: OpenBlock;
    try {
      block = this.#openBlock(message);
    } catch (error) {
      this.#post({ type: "bad-block", block: message.block, reason: (error as Error).message });
      return;
    }
    this.#openBlocks += 1;
    const runner = this.#runner(message.op);
    runner.run(block, message.from, message.to, () => {
      const busyMs = monotonicMs() - startedMs;
      // After the microtasks, so that a rejection nobody handles still counts against its row.
      setImmediate(() => this.#closeBlock(block, busyMs));
    });
    this.#leave(runner.isAsync);
  }

  #closeBlock(block: OpenBlock, busyMs: number): void {
    this.#openBlocks -= 1;
    if (this.#openBlocks === 0 && this.#heart !== null) {
      clearInterval(this.#heart);
      this.#heart = null;
    }
    this.#answer(block);
    block.isClosed = true;
    this.#post({ type: "done", block: block.message.block, busyMs });
  }

  /** Sends the request's reply where this was its last block and all rows have plain scores. */
  #answer({ message: { lane }, memory }: OpenBlock): void {
    if (lane === null) return;
    const { states, cells, frame } = memory;
    for (let row = 0; row < states.length; row++) {
      if (Atomics.load(states, row) !== RowState.PLAIN) return;
    }
    const { ANSWER } = RequestCell;
    if (Atomics.compareExchange(cells, ANSWER, Answer.OPEN, Answer.TAKEN) !== Answer.OPEN) return;
    const isSent = this.#lanes.send(lane, frame);
    Atomics.store(cells, ANSWER, isSent ? Answer.SENT : Answer.OPEN);
  }

  #openBlock(message: BlockMessage): OpenBlock {
    const batch = this.#batchOf(message);
    const memory = openRequestMemory(message.memory, message.rows);
    const write = this.#arenaWriter(message.block);
    const runner = this.#runner(message.op);
    const overrule = (row: number, result: RowResult): void => {
      write(row, result);
      memory.states[row] = RowState.OTHER;
    };
    const block: OpenBlock = {
      message,
      memory,
      batch,
      isClosed: false,
      overrule,
      isWanted: () => memory.cells[RequestCell.CANCELLED] === 0,
      started: (row) => {
        if (message.journalId !== null) this.#journal.note(message.journalId, row);
        memory.states[row] = RowState.RUNNING;
        if (runner.isAsync) memory.starts[row] = monotonicMs();
        this.#enter(message.block, row);
      },
      finished: (row, result) => {
        if (block.isClosed) return;
        const state = memory.states[row];
        if (state === RowState.PLAIN || state === RowState.OTHER) return;
        if (typeof result === "number") {
          memory.values[row] = result;
          // Another thread that sees the state must see the value.
          Atomics.store(memory.states, row, RowState.PLAIN);
        } else {
          overrule(row, result);
        }
        if (message.journalId !== null) this.#journal.clear();
      },
    };
    return block;
  }

  #batchOf(message: BlockMessage): OpBatch {
    if (this.#lastBatch?.job !== message.job) {
      const batch = openBatch(message.op, message.payload, this.#hooks);
      this.#lastBatch = { job: message.job, batch };
    }
    return this.#lastBatch.batch;
  }

  #arenaWriter(block: number): (row: number, result: RowResult) => void {
    let arena: Arena | null = null;
    let bytes = FIRST_ARENA_BYTES;
    return (row, result) => {
      const entry = Buffer.from(`${JSON.stringify([row, result])},`, "utf8");
      if (arena !== null && appendToArena(arena, entry)) return;
      arena = createArena(Math.max(bytes, entry.length));
      bytes *= 2;
      this.#post({ type: "arena", block, buffer: arena.buffer });
      appendToArena(arena, entry);
    };
  }

  #runner(op: Op): RowRunner {
    let runner = this.#runners.get(op);
    if (runner === undefined) {
      const { timeoutMs } = this.#start.limits;
      const concurrency = asyncPlan(op, describeHooks(this.#hooks), this.#start.limits).share;
      const onAsync = (): void => {
        this.#post({ type: "async", op });
      };
      runner = new RowRunner({ timeoutMs, concurrency, onAsync });
      this.#runners.set(op, runner);
    }
    return runner;
  }

  #enter(block: number, row: number): void {
    this.#cells[Cell.BLOCK] = block;
    this.#cells[Cell.ROW] = row;
    Atomics.add(this.#cells, Cell.HEARTBEAT, 1);
  }

  #leave(isAsync: boolean): void {
    this.#cells[Cell.ROW] = -1;
    currentRow.enterWith(undefined as never);
    if (isAsync && this.#openBlocks > 0 && this.#heart === null) {
      const beat = (): void => {
        Atomics.add(this.#cells, Cell.HEARTBEAT, 1);
      };
      this.#heart = setInterval(beat, HEARTBEAT_MS);
    }
  }

  /** Keeps the cells true inside promises, timers and callbacks: whose code is it that runs now? */
  #watchContext(): void {
    createHook({
      before: () => {
        const context = currentRow.getStore();
        this.#lastContext = context ?? null;
        if (context === undefined) return;
        const { message } = context.sink as OpenBlock;
        this.#cells[Cell.BLOCK] = message.block;
        this.#cells[Cell.ROW] = context.row;
      },
      after: () => {
        this.#cells[Cell.ROW] = -1;
      },
    }).enable();
  }

  #watchCrashes(): void {
    process.on("unhandledRejection", (reason) => this.#blame("left a promise rejected", reason));
    process.on("uncaughtException", (error) => this.#blame("threw outside of its call", error));
    const exit = process.exit.bind(process);
    process.exit = (code): never => {
      this.#blame(`called process.exit(${code ?? ""})`, undefined);
      return exit(code);
    };
  }

  #blame(what: string, reason: unknown): void {
    // Node leaves the callback's context before it reports an error that nobody caught.
    const context = currentRow.getStore() ?? this.#lastContext;
    const why =
      reason === undefined
        ? ""
        : `: ${reason instanceof Error ? stackOf(reason) : showValue(reason)}`;
    if (context === null) {
      console.error(`genenv: a hook ${what} outside of any sample${why}`);
      return;
    }
    const block = context.sink as OpenBlock;
    const failure = crashed(block.batch.where(context.row), what);
    failure.reason += why;
    if (block.isClosed) console.error(`genenv: ${failure.reason}, after it was scored`);
    else block.overrule(context.row, failure);
  }
}
