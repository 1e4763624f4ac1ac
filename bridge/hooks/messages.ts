/** What the pool and its workers say to each other. */
import type { Op } from "../wire.js";
import type { HookInfo } from "./load.js";
import type { ReplyLane } from "./reply-lane.js";

export type Limits = {
  /** Deadline of a sample. */
  timeoutMs: number;
  /** Deadline of a request, from its arrival. */
  batchTimeoutMs: number;
  /** Heap limit of a worker. */
  heapMb: number;
  /** Samples of an async hook under way at once, where the hook doesn't say. */
  concurrency: number;
  /** Worker threads that run hooks; a spare one more waits. */
  workers: number;
};

/** The compiled modules, ready to import. */
export type ModuleSet = {
  reward: ImportRef | null;
  environment: ImportRef | null;
  curriculum: ImportRef | null;
  algorithms: ImportRef | null;
};
/** A module to import: the file that is imported, and the one the user wrote. */
export type ImportRef = { file: string; source: string; exportName: string };

/** What a worker is told first: until then it has loaded this package's modules, and no hooks. */
export type WorkerStart = {
  type: "start";
  modules: ModuleSet;
  limits: Limits;
  logFile: string | null;
  /** Where rows are noted before they run, when a request has already cost a host its life. */
  journalFile: string | null;
};

export type BlockMessage = {
  type: "block";
  block: number;
  /** Blocks of one job share its payload. */
  job: number;
  op: Op;
  rows: number;
  from: number;
  to: number;
  payload: Uint8Array;
  memory: SharedArrayBuffer;
  /** The request's id, where its rows must be noted in the journal before they run. */
  journalId: bigint | null;
  /** Where the worker answers that finishes the job's last row, if all rows are plain scores. */
  lane: ReplyLane | null;
};

export type ToWorker = WorkerStart | BlockMessage | { type: "lane-closed"; lane: number };

export type FromWorker =
  | { type: "ready"; info: HookInfo; threadPath: string | null }
  | { type: "load-failed"; code: string; message: string; hint: string | null }
  | { type: "async"; op: Op }
  | { type: "arena"; block: number; buffer: SharedArrayBuffer }
  | { type: "bad-block"; block: number; reason: string }
  | { type: "done"; block: number; busyMs: number };
