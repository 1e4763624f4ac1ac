/** Serves the hook plane's frames on a socket. Knows connections and requests, not what runs them. */
import { timingSafeEqual } from "node:crypto";
import { setMaxListeners } from "node:events";
import { chmodSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { GenEnvError, HookError } from "../errors.js";
import { type Frame, FrameReader } from "../frame-reader.js";
import { SharedBuffers } from "../shared-buffers.js";
import {
  badFrame,
  encodeHeader,
  type Header,
  Kind,
  MAPPED_BYTES,
  MAX_HELLO_BYTES,
  MAX_PAYLOAD_BYTES,
  Op,
} from "../wire.js";
import { createMappedFile, type MappedFile } from "./mapped-file.js";

export type Reply = { kind: Kind; payload: Uint8Array };
/** `release` may be called once nobody reads the payload any more. */
export type Handler = (frame: Frame, signal: AbortSignal, release: () => void) => Promise<Reply>;

/** A path, or a host and port (0 picks one). */
export type Listen = { path: string } | { host: string; port: number };

/** A place to listen at. `token` null trusts whoever can open it: right for a Unix socket in a private folder only. */
export type Door = { listen: Listen; token: string | null };

/** Payload memory kept for the next frames: a pipelined batch of long completions. */
const KEPT_BYTES = 64 << 20;

export type FrameServer = { address: string; close(): Promise<void> };

/** Serves the same at every door; the addresses are in the doors' order. */
export async function openDoors(
  doors: readonly Door[],
  serving: { handle: Handler; log: (line: string) => void },
): Promise<{ addresses: string[]; close(): Promise<void> }> {
  const servers: FrameServer[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.close()));
  };
  try {
    for (const door of doors) servers.push(await serveFrames({ ...door, ...serving }));
  } catch (error) {
    await close();
    throw error;
  }
  return { addresses: servers.map(({ address }) => address), close };
}

async function serveFrames(
  options: Door & { handle: Handler; log: (line: string) => void },
): Promise<FrameServer> {
  const { listen } = options;
  const sockets = new Set<Socket>();
  const buffers = new SharedBuffers(KEPT_BYTES);
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    serveConnection(socket, buffers, options);
  });
  if ("path" in listen) rmSync(listen.path, { force: true });
  await listening(server, listen);
  if ("path" in listen) chmodSync(listen.path, 0o600);
  return {
    address: addressOf(server, listen),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function listening(server: Server, listen: Listen): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error) => reject(listenError(listen, error)));
    server.listen(listen, () => {
      server.removeAllListeners("error");
      resolve();
    });
  });
}

function listenError(listen: Listen, error: Error): Error {
  const { code } = error as NodeJS.ErrnoException;
  if (!("host" in listen) || (code !== "EADDRINUSE" && code !== "EADDRNOTAVAIL")) return error;
  const where = `${listen.host}:${listen.port}`;
  const why = code === "EADDRINUSE" ? "is taken" : "is no address of this machine";
  return new HookError(`the hook host can't listen at ${where}: it ${why}`, {
    code: code === "EADDRINUSE" ? "port-taken" : "hook-address",
    hint: "set genenv.hooks.address to an address of this machine, with another port or none",
    cause: error,
  });
}

function addressOf(server: Server, listen: Listen): string {
  if ("path" in listen) return `unix:${listen.path}`;
  const bound = server.address();
  const port = typeof bound === "object" && bound !== null ? bound.port : listen.port;
  const host = listen.host.includes(":") ? `[${listen.host}]` : listen.host;
  return `tcp:${host}:${port}`;
}

function serveConnection(
  socket: Socket,
  buffers: SharedBuffers,
  options: { token: string | null; handle: Handler; log: (line: string) => void },
): void {
  const { token, handle, log } = options;
  const peer = socket.remoteAddress ?? "local";
  const requests = new AbortController();
  // A listener a request under way, and a client may have many.
  setMaxListeners(0, requests.signal);
  const isLocal = socket.remoteAddress === undefined;
  let mapped: MappedFile | null = null;
  let isTrusted = token === null;
  const reader = new FrameReader(isTrusted ? MAX_PAYLOAD_BYTES : MAX_HELLO_BYTES, buffers);

  const drop = (error: unknown): void => {
    log(`closed a connection from ${peer}: ${(error as Error).message}`);
    socket.destroy();
  };
  const send = ({ op, id }: Header, { kind, payload }: Reply): void => {
    if (socket.destroyed) return;
    socket.cork();
    socket.write(encodeHeader({ op, kind, attempt: 0, id, length: payload.byteLength }));
    socket.write(payload);
    socket.uncork();
  };
  /** The request's payload, fetched from the shared file where it lies there. */
  const payloadOf = ({ header, payload }: Frame): Uint8Array => {
    if (header.kind === Kind.REQUEST) return payload;
    if (header.kind !== Kind.REQUEST_MAPPED) {
      throw badFrame(`is of kind ${header.kind}, not a request`);
    }
    if (mapped === null || payload.length !== 8) throw badFrame("points into no shared file");
    const place = new DataView(payload.buffer, payload.byteOffset, payload.length);
    const offset = place.getUint32(0, true);
    const length = place.getUint32(4, true);
    if (length > MAPPED_BYTES) throw badFrame(`points at ${length} shared bytes`);
    const bytes = buffers.take(length);
    mapped.read(offset, bytes);
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
      if (isLocal) mapped ??= createMappedFile();
      send(header, { kind: Kind.REPLY, payload: Buffer.from(mapped?.path ?? "", "utf8") });
      return;
    }
    if (!isTrusted) throw badFrame("comes before the token");
    handle({ header, payload }, requests.signal, () => buffers.give(payload)).then(
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
    mapped?.close();
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
