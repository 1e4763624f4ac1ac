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
  #signal: LazySignal;

  constructor(options: RowRunnerOptions) {
    this.#options = options;
    this.#signal = new LazySignal(options.timeoutMs);
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
    // A signal that no row has looked at serves the next one.
    if (this.#signal.isTaken) this.#signal = new LazySignal(this.#options.timeoutMs);
    sink.started(row);
    currentRow.enterWith({ sink, row });
    const result = sink.batch.run(row, this.#signal.get);
    if (result instanceof Promise) this.#signal.isTaken = true;
    return result;
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
    const signal = this.#signal;
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
      signal.abort();
      close(timedOut(sink.batch.where(row), timeoutMs));
    }, timeoutMs);
    void result.then(close);
  }
}

/** An AbortSignal made at the first look, aborted with a TimeoutError. */
class LazySignal {
  isTaken = false;
  #controller: AbortController | null = null;
  #isAborted = false;

  constructor(readonly timeoutMs: number) {}

  readonly get = (): AbortSignal => {
    this.isTaken = true;
    this.#controller ??= new AbortController();
    if (this.#isAborted) this.abort();
    return this.#controller.signal;
  };

  abort(): void {
    this.#isAborted = true;
    const reason = `the sample's ${this.timeoutMs} ms are over`;
    this.#controller?.abort(new DOMException(reason, "TimeoutError"));
  }
}
