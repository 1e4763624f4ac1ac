/** The hook plane's client in Node, for scoring without Python; `py/genenv/hooks.py` is the training loop's. */
import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";
import { type ReplyColumn, writeBatch } from "../arrow-write.js";
import { HookError, WorkerError } from "../errors.js";
import { type Frame, FrameReader } from "../frame-reader.js";
import { SharedBuffers } from "../shared-buffers.js";
import { badFrame, Column, encodeHeader, Kind, MAX_PAYLOAD_BYTES, Op } from "../wire.js";
import { toWireJson } from "./json.js";
import { readScores } from "./read-scores.js";
import type { ScoreRow } from "./score-all.js";
import type { RewardColumn, RewardResult } from "./types.js";

/** How often a request is sent before its host is given up, and how long a host may stay away. */
const MAX_ATTEMPTS = 8;
const RECONNECT_MS = 15_000;
const RETRY_MS = 20;

type Request = {
  op: Op;
  payload: Uint8Array;
  attempt: number;
  resolve: (frame: Frame) => void;
  reject: (error: Error) => void;
};

export type HookClientOptions = {
  /** As a hook host gives it; a Unix socket's. */
  address: string;
  /** What the reward uses, of which only the columns are sent. */
  uses: readonly RewardColumn[];
};

/**
 * One connection with any number of requests under way. When the host dies it connects again and re-sends what has no
 * reply under the same ids, so that no score is taken twice.
 */
export class HookClient {
  readonly #path: string;
  #uses: readonly RewardColumn[];
  readonly #open = new Map<bigint, Request>();
  // Unique among clients: the host's crash journal goes by id.
  #nextId = randomBytes(4).readUInt32LE() * 2 ** 20;
  #socket: Socket | null = null;
  #isClosed = false;

  constructor({ address, uses }: HookClientOptions) {
    if (!address.startsWith("unix:")) {
      throw new HookError(`the hook address "${address}" is no unix:PATH`, {
        code: "hook-address",
      });
    }
    this.#path = address.slice("unix:".length);
    this.#uses = uses;
  }

  /** A result a row, in order; `firstRow` is the first one's number, for messages. */
  async score(rows: readonly ScoreRow[], firstRow = 0): Promise<RewardResult[]> {
    if (rows.length === 0) return [];
    const { header, payload } = await this.#request(
      Op.SCORE,
      writeBatch(scoreColumns(rows, this.#uses, firstRow)),
    );
    // Text decoders refuse shared memory.
    const bytes = Buffer.from(new Uint8Array(payload));
    if (header.kind === Kind.ERROR) throw hostError(bytes);
    return readScores(header.kind, bytes, rows.length);
  }

  /** What the reward uses from now on. */
  use(columns: readonly RewardColumn[]): void {
    this.#uses = columns;
  }

  close(): void {
    this.#isClosed = true;
    this.#socket?.destroy();
    this.#fail(new HookError("the hook client was closed", { code: "cancelled" }));
  }

  #request(op: Op, payload: Uint8Array): Promise<Frame> {
    return new Promise((resolve, reject) => {
      const id = BigInt(this.#nextId++);
      this.#open.set(id, { op, payload, attempt: 0, resolve, reject });
      if (this.#socket === null) this.#connect(performance.now() + RECONNECT_MS);
      else if (!this.#socket.connecting) this.#send(id);
    });
  }

  #send(id: bigint): void {
    const { op, payload, attempt } = this.#open.get(id) as Request;
    const header = { op, kind: Kind.REQUEST, attempt, id, length: payload.length };
    this.#socket?.cork();
    this.#socket?.write(encodeHeader(header));
    this.#socket?.write(payload);
    this.#socket?.uncork();
  }

  #connect(untilMs: number): void {
    const socket = connect(this.#path);
    const reader = new FrameReader(MAX_PAYLOAD_BYTES, new SharedBuffers(0));
    let isUp = false;
    let reason = "it closed the connection";
    this.#socket = socket;
    socket.once("connect", () => {
      isUp = true;
      for (const id of this.#open.keys()) this.#send(id);
    });
    socket.on("data", (chunk) => {
      try {
        reader.push(chunk, (frame) => this.#hear(frame));
      } catch (error) {
        this.#fail(error as Error);
        socket.destroy();
      }
    });
    socket.on("error", (error) => {
      reason = error.message;
    });
    socket.on("close", () => {
      this.#socket = null;
      if (this.#isClosed || this.#open.size === 0) return;
      if (isUp) this.#countLoss(reason);
      const deadlineMs = isUp ? performance.now() + RECONNECT_MS : untilMs;
      if (performance.now() < deadlineMs) setTimeout(() => this.#again(deadlineMs), RETRY_MS);
      else this.#fail(unreachable(this.#path, reason));
    });
  }

  #again(untilMs: number): void {
    if (!this.#isClosed && this.#socket === null && this.#open.size > 0) this.#connect(untilMs);
  }

  #hear(frame: Frame): void {
    const request = this.#open.get(frame.header.id);
    if (request === undefined) return;
    this.#open.delete(frame.header.id);
    if (frame.header.op === request.op) request.resolve(frame);
    else request.reject(badFrame(`answers op ${request.op} with ${frame.header.op}`));
  }

  #countLoss(reason: string): void {
    for (const [id, request] of this.#open) {
      request.attempt += 1;
      if (request.attempt < MAX_ATTEMPTS) continue;
      this.#open.delete(id);
      request.reject(
        new WorkerError(`the hook host was lost ${MAX_ATTEMPTS} times in one call (${reason})`, {
          code: "hook-host-died",
          hint: "look for what in the reward ends its process",
        }),
      );
    }
  }

  #fail(error: Error): void {
    for (const { reject } of this.#open.values()) reject(error);
    this.#open.clear();
  }
}

function scoreColumns(
  rows: readonly ScoreRow[],
  uses: readonly RewardColumn[],
  firstRow: number,
): ReplyColumn[] {
  const utf8 = (name: string, value: (row: ScoreRow, index: number) => string | null) =>
    ({ name, type: "utf8", values: rows.map(value) }) as const;
  const isText = rows.every(({ groundTruth }) => typeof groundTruth === "string");
  const params = toWireJson({ firstRow });
  const used = {
    messages: () => utf8(Column.MESSAGES, (row) => toWireJson(row.messages ?? [])),
    dataSource: () => utf8(Column.DATA_SOURCE, (row) => row.dataSource ?? null),
    extra: () => utf8(Column.EXTRA, (row) => toWireJson(row.extra ?? {})),
  };
  return [
    utf8(Column.RESPONSE, (row) => row.response),
    utf8(Column.TASK_ID, (row, index) => row.taskId ?? `row-${firstRow + index}`),
    isText
      ? utf8(Column.GROUND_TRUTH_TEXT, (row) => row.groundTruth as string)
      : utf8(Column.GROUND_TRUTH, (row) => toWireJson(row.groundTruth)),
    ...uses.map((column) => used[column]()),
    utf8(Column.PARAMS, (_, index) => (index === 0 ? params : null)),
  ];
}

function hostError(bytes: Buffer): HookError {
  const { code, message, hint } = JSON.parse(bytes.toString("utf8")) as Record<string, string>;
  return new HookError(String(message), { code: String(code), hint: hint ?? null });
}

function unreachable(path: string, reason: string): WorkerError {
  return new WorkerError(`no hook host answers at ${path} (${reason})`, {
    code: "hook-host-unreachable",
    hint: "run it again; if it stays so, please report it",
  });
}
