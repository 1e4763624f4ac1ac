/** The memory that the pool and its workers share, so that a killed worker's finished work is not lost. */

import { HEADER_BYTES } from "../wire.js";

/** A worker's own cells. */
export const Cell = {
  /** Counts up whenever user code is entered or the event loop turns. */
  HEARTBEAT: 0,
  /** The row whose code runs, -1 when none. */
  ROW: 1,
  /** The block that row belongs to. */
  BLOCK: 2,
} as const;
const CELLS = 4;

export function createCells(): SharedArrayBuffer {
  return new SharedArrayBuffer(4 * CELLS);
}

/** What has become of a row. */
export const RowState = { WAITING: 0, RUNNING: 1, PLAIN: 2, OTHER: 3 } as const;

/** A request's own cells. */
export const RequestCell = {
  /** 1 when nobody wants its results any more. */
  CANCELLED: 0,
  /** Who answers it, as `Answer` has it. */
  ANSWER: 1,
} as const;
const REQUEST_CELLS = 2;

/** Whoever takes an answer that is still open gives it, and nobody else does. */
export const Answer = { OPEN: 0, TAKEN: 1, SENT: 2 } as const;

/** One request's results: a row's state, its plain score and the time (monotonicMs) it was started. */
export type RequestMemory = {
  buffer: SharedArrayBuffer;
  cells: Int32Array;
  /** The reply of plain scores as it is sent: room for a header, and the values. */
  frame: Uint8Array;
  values: Float64Array;
  starts: Float64Array;
  states: Uint8Array;
};

/** The values follow the header at once, and lie on a multiple of 8. */
const VALUES_AT = 32;
const FRAME_AT = VALUES_AT - HEADER_BYTES;

/**
 * Memory for requests, used again: a new one for each would pile up by the ten MB until a garbage collection, which the
 * few objects of a request bring about seldom.
 */
export class RequestMemories {
  readonly #spare: SharedArrayBuffer[] = [];

  take(rows: number): RequestMemory {
    const bytes = VALUES_AT + 17 * rows;
    const at = this.#spare.findIndex(({ byteLength }) => byteLength >= bytes);
    const [spare] = at < 0 ? [] : this.#spare.splice(at, 1);
    // Rounded up, so that batches of about a size share it.
    const buffer = spare ?? new SharedArrayBuffer(2 ** Math.ceil(Math.log2(bytes)));
    const memory = openRequestMemory(buffer, rows);
    memory.cells.fill(0);
    memory.states.fill(RowState.WAITING);
    return memory;
  }

  /** Takes a memory back that no thread writes or reads any more. */
  giveBack({ buffer }: RequestMemory): void {
    if (this.#spare.length === MAX_SPARE) this.#spare.shift();
    this.#spare.push(buffer);
  }
}

const MAX_SPARE = 8;

export function openRequestMemory(buffer: SharedArrayBuffer, rows: number): RequestMemory {
  return {
    buffer,
    cells: new Int32Array(buffer, 0, REQUEST_CELLS),
    frame: new Uint8Array(buffer, FRAME_AT, HEADER_BYTES + 8 * rows),
    values: new Float64Array(buffer, VALUES_AT, rows),
    starts: new Float64Array(buffer, VALUES_AT + 8 * rows, rows),
    states: new Uint8Array(buffer, VALUES_AT + 16 * rows, rows),
  };
}

/** Milliseconds on the clock that all threads of a process share. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}

const HEAD_BYTES = 8;

/** JSON entries appended by a worker, readable by the pool at any moment, also after the worker's death. */
export type Arena = { buffer: SharedArrayBuffer; used: Int32Array };

export function createArena(bytes: number): Arena {
  return openArena(new SharedArrayBuffer(HEAD_BYTES + bytes));
}

export function openArena(buffer: SharedArrayBuffer): Arena {
  return { buffer, used: new Int32Array(buffer, 0, 1) };
}

/** Appends an entry; false when it doesn't fit. */
export function appendToArena(arena: Arena, entry: Buffer): boolean {
  const at = HEAD_BYTES + Atomics.load(arena.used, 0);
  if (at + entry.length > arena.buffer.byteLength) return false;
  Buffer.from(arena.buffer).set(entry, at);
  Atomics.store(arena.used, 0, at + entry.length - HEAD_BYTES);
  return true;
}

/** The entries so far, in order. Each was appended as JSON followed by a comma. */
export function readArena(arena: Arena): unknown[] {
  const used = Atomics.load(arena.used, 0);
  if (used === 0) return [];
  const text = Buffer.from(arena.buffer).toString("utf8", HEAD_BYTES, HEAD_BYTES + used - 1);
  return JSON.parse(`[${text}]`) as unknown[];
}
