/** Serves the frames of one client of the hook plane. Knows requests, not what runs them. */
import { timingSafeEqual } from "node:crypto";
import { setMaxListeners } from "node:events";
import type { Socket } from "node:net";
import { GenEnvError } from "../errors.js";
import { type Frame, FrameReader } from "../frame-reader.js";
import type { SharedBuffers } from "../shared-buffers.js";
import {
  badFrame,
  encodeHeader,
  type Header,
  Kind,
  MAX_HELLO_BYTES,
  MAX_PAYLOAD_BYTES,
  Op,
} from "../wire.js";
import { type LocalLink, openLocalLink } from "./local-link.js";
import type { ReplyLane } from "./reply-lane.js";

export type Reply = { kind: Kind; payload: Uint8Array };

export type Request = Frame & {
  /** Aborts when the connection ends. */
  signal: AbortSignal;
  /** To be called once nobody reads the payload any more. */
  release: () => void;
  /** Where a worker may answer; null where only this thread can. */
  lane: ReplyLane | null;
};
/** Gives null for a request that a worker has answered. */
export type Handler = (request: Request) => Promise<Reply | null>;

export type Serving = {
  handle: Handler;
  log: (line: string) => void;
  /** Told of each lane that is no longer there. */
  onLaneClosed?: (lane: number) => void;
};

export function serveConnection(
  socket: Socket,
  buffers: SharedBuffers,
  options: Serving & { token: string | null },
): void {
  const { token, handle, log, onLaneClosed } = options;
  const peer = socket.remoteAddress ?? "local";
  const requests = new AbortController();
  // A listener a request under way, and a client may have many.
  setMaxListeners(0, requests.signal);
  const isLocal = socket.remoteAddress === undefined;
  let link: LocalLink | null = null;
  let isTrusted = token === null;
  const reader = new FrameReader(isTrusted ? MAX_PAYLOAD_BYTES : MAX_HELLO_BYTES, buffers);

  const drop = (error: unknown): void => {
    log(`closed a connection from ${peer}: ${(error as Error).message}`);
    socket.destroy();
  };
  const send = ({ op, id }: Header, reply: Reply | null): void => {
    if (socket.destroyed || reply === null) return;
    const { kind, payload } = reply;
    socket.cork();
    socket.write(encodeHeader({ op, kind, attempt: 0, id, length: payload.byteLength }));
    socket.write(payload);
    socket.uncork();
  };
  const payloadOf = ({ header, payload }: Frame): Uint8Array => {
    if (header.kind === Kind.REQUEST) return payload;
    if (header.kind !== Kind.REQUEST_MAPPED) {
      throw badFrame(`is of kind ${header.kind}, not a request`);
    }
    if (link === null) throw badFrame("points into no shared file");
    const bytes = link.fetch(payload, buffers);
    buffers.give(payload);
    return bytes;
  };
  const onFrame = (frame: Frame): void => {
    const { header } = frame;
    const payload = payloadOf(frame);
    if (header.op === Op.HELLO) {
      if (token !== null && !isSameToken(token, payload)) throw badFrame("brings a wrong token");
      isTrusted = true;
      reader.maxPayloadBytes = MAX_PAYLOAD_BYTES;
      if (isLocal) link ??= openLocalLink();
      send(header, { kind: Kind.REPLY, payload: Buffer.from(link?.path ?? "", "utf8") });
      return;
    }
    if (!isTrusted) throw badFrame("comes before the token");
    const release = (): void => buffers.give(payload);
    const lane = link?.lane() ?? null;
    handle({ header, payload, signal: requests.signal, release, lane }).then(
      (reply) => send(header, reply),
      (error: unknown) => {
        if (isCode(error, "cancelled")) return;
        if (isCode(error, "bad-frame")) drop(error);
        else send(header, errorReply(error));
      },
    );
  };
  socket.on("data", (chunk: Buffer) => {
    if (socket.destroyed) return;
    try {
      reader.push(chunk, onFrame);
    } catch (error) {
      drop(error);
    }
  });
  socket.on("end", () => {
    if (!reader.isBetweenFrames) drop(badFrame("is cut short by the end of the connection"));
  });
  socket.on("error", (error) => log(`lost a connection from ${peer}: ${error.message}`));
  socket.on("close", () => {
    requests.abort();
    const lane = link?.close() ?? null;
    if (lane !== null) onLaneClosed?.(lane);
  });
}

function isSameToken(token: string, payload: Uint8Array): boolean {
  // Equal lengths for the constant-time compare, whatever was sent.
  const expected = Buffer.alloc(MAX_HELLO_BYTES);
  const given = Buffer.alloc(MAX_HELLO_BYTES);
  expected.write(token, "utf8");
  given.set(payload.subarray(0, MAX_HELLO_BYTES));
  const isSameLength = payload.byteLength === Buffer.byteLength(token, "utf8");
  return timingSafeEqual(expected, given) && isSameLength;
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof GenEnvError && error.code === code;
}

function errorReply(error: unknown): Reply {
  const { code, hint } = error instanceof GenEnvError ? error : { code: "host-error", hint: null };
  const body = { code, message: (error as Error).message, hint };
  return { kind: Kind.ERROR, payload: Buffer.from(JSON.stringify(body), "utf8") };
}
