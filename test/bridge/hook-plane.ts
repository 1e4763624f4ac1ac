/** Shared by the hook tests: hosts on fixture hooks, and a bare client of their wire. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tableFromIPC } from "apache-arrow";
import { onTestFinished } from "vitest";
import { writeBatch } from "../../bridge/arrow-write.js";
import { FrameReader } from "../../bridge/frame-reader.js";
import {
  type HookHost,
  type HookHostEvent,
  type HookHostOptions,
  startHookHost,
} from "../../bridge/hooks/host.js";
import { SharedBuffers } from "../../bridge/shared-buffers.js";
import { encodeHeader, type Header, Kind, Op } from "../../bridge/wire.js";

export const fixtures = join(import.meta.dirname, "..", "fixtures");
export const repository = join(import.meta.dirname, "..", "..");

export type TestHost = HookHost & {
  events: HookHostEvent[];
  log: () => Promise<string>;
  dir: string;
};

type CleanUp = ((task: () => Promise<void>) => void) | null;

/** A host with one reward; closed at the test's end, or by the caller where `cleanUp` is null. */
export async function startHost(
  reward: string | { hook: unknown },
  options: Partial<HookHostOptions> = {},
  cleanUp: CleanUp = onTestFinished,
): Promise<TestHost> {
  const dir = await temporaryDir(cleanUp);
  const logFile = join(dir, "logs", "hooks.log");
  const events: HookHostEvent[] = [];
  const host = await startHookHost({
    modules: {
      reward:
        typeof reward === "string"
          ? { kind: "file", path: join(fixtures, reward), exportName: "default" }
          : { kind: "value", hook: reward.hook },
      environment: null,
      curriculum: null,
      algorithms: null,
    },
    dir: join(dir, "run"),
    logFile,
    projectDir: repository,
    onEvent: (event) => events.push(event),
    ...options,
  });
  cleanUp?.(() => host.close());
  return Object.assign(host, { events, dir, log: () => readFile(logFile, "utf8") });
}

export async function temporaryDir(cleanUp: CleanUp = onTestFinished): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "genenv-test-"));
  cleanUp?.(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

export function payloadOf(columns: Record<string, (string | null)[]>): Uint8Array {
  return writeBatch(
    Object.entries(columns).map(([name, values]) => ({ name, type: "utf8", values })),
  );
}

export function scorePayload(responses: string[], groundTruth = "null"): Uint8Array {
  return payloadOf({
    response: responses,
    task_id: responses.map((_, row) => `t-${row}`),
    ground_truth: responses.map(() => groundTruth),
  });
}

export type WireReply = { header: Header; payload: Buffer };

/** One connection; `closed` resolves when the host ends it. */
export class WireClient {
  readonly #waiting = new Map<bigint, (reply: WireReply) => void>();
  #nextId = 1n;
  readonly closed: Promise<void>;

  constructor(readonly socket: Socket) {
    const reader = new FrameReader(1 << 28, new SharedBuffers(0));
    socket.on("data", (chunk) =>
      reader.push(chunk, ({ header, payload }) => {
        this.#waiting.get(header.id)?.({ header, payload: Buffer.from(new Uint8Array(payload)) });
      }),
    );
    socket.on("error", () => {});
    this.closed = new Promise((resolve) => socket.once("close", () => resolve()));
  }

  /** A request whose payload lies in the connection's shared file. */
  sendMapped(op: Op, offset: number, length: number): Promise<WireReply> {
    const place = Buffer.alloc(8);
    place.writeUInt32LE(offset, 0);
    place.writeUInt32LE(length, 4);
    return this.send(op, place, 0, Kind.REQUEST_MAPPED);
  }

  send(op: Op, payload: Uint8Array, attempt = 0, kind: Kind = Kind.REQUEST): Promise<WireReply> {
    const id = this.#nextId++;
    const reply = new Promise<WireReply>((resolve) => this.#waiting.set(id, resolve));
    const header = { op, kind, attempt, id, length: payload.length };
    this.socket.write(Buffer.concat([encodeHeader(header), payload]));
    return reply;
  }

  /** Scores responses whose ground truth is null, each its own task. */
  async score(responses: string[]): Promise<unknown[]> {
    return resultsOf(await this.send(Op.SCORE, scorePayload(responses)));
  }
}

export async function connectTo(host: { address: string }): Promise<WireClient> {
  const [kind, ...rest] = host.address.split(":");
  const socket =
    kind === "unix"
      ? connect(rest.join(":"))
      : connect({ host: rest[0] as string, port: Number(rest[1]) });
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("error", reject);
  });
  onTestFinished(() => {
    socket.destroy();
  });
  return new WireClient(socket);
}

/** A score reply as plain numbers, "abstain: reason" and "code: reason". */
export function resultsOf({ header, payload }: WireReply): unknown[] {
  if (header.kind === Kind.ERROR) throw new Error(payload.toString("utf8"));
  if (header.kind === Kind.REPLY_F64) {
    return Array.from({ length: payload.length / 8 }, (_, row) => payload.readDoubleLE(8 * row));
  }
  return tableFromIPC(payload)
    .toArray()
    .map((row) => {
      if (row.kind === 0) return row.value;
      return row.kind === 1 ? `abstain: ${row.reason}` : `${row.code}: ${row.reason}`;
    });
}
