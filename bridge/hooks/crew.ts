/** The pool's worker threads: started with the hooks, replaced when they end or are stopped, with a spare that waits. */
import { HookError } from "../errors.js";
import type { HookInfo } from "./load.js";
import type { Limits, ModuleSet, ToWorker, WorkerStart } from "./messages.js";
import {
  type BareWorker,
  type BlockNews,
  bareWorker,
  hireSeat,
  type Seat,
  type SeatEvents,
  terminateSeat,
} from "./seat.js";

export type CrewOptions = {
  workerFile: URL | string;
  modules: ModuleSet;
  limits: Limits;
  logFile: string | null;
  /** Folder for the journals of rows; null keeps none. */
  journalDir: string | null;
  /** The first worker, where one waits already; null starts it. */
  first: BareWorker | null;
  /** The other workers start so much later than the first one is ready; null: when there is work. */
  restDelayMs: number | null;
  log: (line: string) => void;
};

export type CrewEvents = {
  /** A worker can work. */
  ready(): void;
  heard(seat: Seat, news: BlockNews): void;
  /** A worker that worked ended by itself, with an error or without; it has been replaced. */
  died(seat: Seat, error: NodeJS.ErrnoException | null): void;
  /** No worker can be started any more, after some tries. */
  lost(error: HookError): void;
};

const MAX_LOAD_FAILURES = 3;
const LOAD_RETRY_MS = 500;

export class Crew {
  /** Those that work, or will. */
  readonly seats: Seat[] = [];
  readonly #options: CrewOptions;
  readonly #events: CrewEvents;
  #spare: Seat | null = null;
  #seatCount = 0;
  #loadFailures = 0;
  #isUp = false;
  #isClosed = false;

  constructor(options: CrewOptions, events: CrewEvents) {
    this.#options = options;
    this.#events = events;
  }

  /** Resolves when the first can work, rejects with the HookError of hooks that can't be loaded. */
  async start(): Promise<HookInfo> {
    const { first, restDelayMs } = this.#options;
    const { seat, isReady } = this.#hire(first);
    this.seats.push(seat);
    const info = await isReady;
    this.#isUp = true;
    if (restDelayMs !== null) setTimeout(() => this.#hireRest(), restDelayMs);
    return info;
  }

  /** There is work now, after start(). */
  expectWork(): void {
    if (this.#options.restDelayMs === null) this.#hireRest();
  }

  tell(message: ToWorker): void {
    for (const { worker } of this.seats) worker.postMessage(message);
  }

  /** Ends a worker that was replaced. */
  end(seat: Seat): void {
    void terminateSeat(seat, this.#options.log);
  }

  /** Puts the spare on a seat that is no longer used, and hires a new spare. */
  replace(seat: Seat): void {
    seat.isGone = true;
    if (this.#isClosed) return;
    const index = this.seats.indexOf(seat);
    if (index === -1) {
      if (this.#spare === seat) this.#spare = this.#hire().seat;
      return;
    }
    this.seats[index] = this.#spare ?? this.#hire().seat;
    this.#spare = this.#hire().seat;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const seats = [...this.seats, ...(this.#spare === null ? [] : [this.#spare])];
    await Promise.all(seats.map((seat) => terminateSeat(seat, this.#options.log)));
  }

  #hireRest(): void {
    if (this.#isClosed) return;
    while (this.seats.length < this.#options.limits.workers) this.seats.push(this.#hire().seat);
    this.#spare ??= this.#hire().seat;
  }

  #hire(waiting: BareWorker | null = null): { seat: Seat; isReady: Promise<HookInfo> } {
    const { limits, modules, logFile, journalDir, workerFile } = this.#options;
    const number = this.#seatCount++;
    const journalFile = journalDir === null ? null : `${journalDir}/journal-${number}`;
    const worker = waiting ?? bareWorker(workerFile, limits.heapMb);
    const start: WorkerStart = { type: "start", modules, limits, logFile, journalFile };
    const hired = hireSeat(worker, start, this.#seatEvents);
    // The first one's failure is awaited by start(); later ones are tried again.
    hired.isReady.catch((error: Error) => this.#loadFailed(hired.seat, error));
    return hired;
  }

  readonly #seatEvents: SeatEvents = {
    ready: () => {
      this.#loadFailures = 0;
      this.#events.ready();
    },
    heard: (seat, news) => this.#events.heard(seat, news),
    died: (seat, error) => {
      if (seat.isGone || !seat.isReady) return;
      this.replace(seat);
      this.#events.died(seat, error);
    },
  };

  #loadFailed(seat: Seat, error: Error): void {
    if (this.#isClosed || !this.#isUp) return;
    seat.isGone = true;
    this.#loadFailures += 1;
    this.#options.log(`a hook worker could not be started again: ${error.message}`);
    if (this.#loadFailures > MAX_LOAD_FAILURES) {
      const what = `the hooks can't be loaded again: ${error.message}`;
      this.#events.lost(new HookError(what, { code: "hook-load" }));
    }
    setTimeout(() => this.replace(seat), LOAD_RETRY_MS);
  }
}
