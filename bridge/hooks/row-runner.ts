/** Runs rows of batches one after another, or many at once where the hook turns out to be async. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { OpBatch, RowResult } from "./ops.js";
import { timedOut } from "./result.js";

/** Where the results of a run of rows go, and whether anybody still wants them. */
export type RowSink = {
  batch: OpBatch;
  isWanted(): boolean;
  started(row: number): void;
  finished(row: number, result: RowResult): void;
};

/** The row whose code runs, known also inside its timers and promises. */
export type RowContext = { sink: RowSink; row: number };
export const currentRow = new AsyncLocalStorage<RowContext>();

export type RowRunnerOptions = {
  timeoutMs: number;
  /** Rows of an async hook under way at once. */
  concurrency: number;
  /** Called once, at the first promise a hook returns. */
  onAsync?: () => void;
};

/** A queue of rows with its own limit of concurrency; one for each op. */
export class RowRunner {
  readonly #options: RowRunnerOptions;
  readonly #waiting: { sink: RowSink; next: number; to: number; done: () => void }[] = [];
  #running = 0;
  #isAsync = false;
  /** The next row's. A row that returns a promise keeps it; others have nothing to abort and pass it on. */
  #controller = new AbortController();

  constructor(options: RowRunnerOptions) {
    this.#options = options;
  }

  get isAsync(): boolean {
    return this.#isAsync;
  }

  get running(): number {
    return this.#running;
  }

  /**
   * Runs rows from..to-1 and calls `done` when each has a result or is no longer wanted.
   * Synchronous hooks run before this returns; `until` (a time of performance.now()) lets it pause before the end,
   * and then it returns the row to go on with.
   */
  run(sink: RowSink, from: number, to: number, done: () => void, until = Infinity): number {
    if (!this.#isAsync) {
      for (let row = from; row < to && sink.isWanted(); row++) {
        const result = this.#call(sink, row);
        if (result instanceof Promise) {
          this.#goAsync(sink, row, result, to, done);
          return to;
        }
        sink.finished(row, result);
        if (until !== Infinity && performance.now() > until && row + 1 < to) return row + 1;
      }
      done();
      return to;
    }
    this.#enqueue(sink, from, to, done);
    return to;
  }

  #call(sink: RowSink, row: number): RowResult | Promise<RowResult> {
    sink.started(row);
    currentRow.enterWith({ sink, row });
    return sink.batch.run(row, this.#controller.signal);
  }

  #goAsync(
    sink: RowSink,
    row: number,
    first: Promise<RowResult>,
    to: number,
    done: () => void,
  ): void {
    this.#isAsync = true;
    this.#options.onAsync?.();
    let open = 2;
    const part = (): void => {
      open -= 1;
      if (open === 0) done();
    };
    this.#watch(sink, row, first, part);
    this.#enqueue(sink, row + 1, to, part);
  }

  #enqueue(sink: RowSink, from: number, to: number, done: () => void): void {
    if (from >= to) {
      done();
      return;
    }
    let open = to - from;
    const rowDone = (): void => {
      open -= 1;
      if (open === 0) done();
    };
    this.#waiting.push({ sink, next: from, to, done: rowDone });
    this.#pump();
  }

  #pump(): void {
    while (this.#running < this.#options.concurrency) {
      const head = this.#waiting[0];
      if (head === undefined) return;
      const row = head.next++;
      if (head.next >= head.to) this.#waiting.shift();
      if (!head.sink.isWanted()) {
        head.done();
        continue;
      }
      const result = this.#call(head.sink, row);
      if (result instanceof Promise) {
        this.#watch(head.sink, row, result, head.done);
      } else {
        head.sink.finished(row, result);
        head.done();
      }
    }
  }

  /** Waits for an async result until the deadline; a later one is ignored. */
  #watch(sink: RowSink, row: number, result: Promise<RowResult>, done: () => void): void {
    this.#running += 1;
    const controller = this.#controller;
    this.#controller = new AbortController();
    let isOpen = true;
    const close = (value: RowResult): void => {
      if (!isOpen) return;
      isOpen = false;
      clearTimeout(timer);
      this.#running -= 1;
      sink.finished(row, value);
      done();
      this.#pump();
    };
    const { timeoutMs } = this.#options;
    const timer = setTimeout(() => {
      const reason = `the sample's ${timeoutMs} ms are over`;
      controller.abort(new DOMException(reason, "TimeoutError"));
      close(timedOut(sink.batch.where(row), timeoutMs));
    }, timeoutMs);
    void result.then(close);
  }
}
