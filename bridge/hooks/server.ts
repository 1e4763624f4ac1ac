/** Listens for the hook plane's clients: on a Unix socket of the user's own, and on TCP behind a token. */
import { chmodSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { HookError } from "../errors.js";
import { SharedBuffers } from "../shared-buffers.js";
import { type Serving, serveConnection } from "./connection.js";

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
  serving: Serving,
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

async function serveFrames(options: Door & Serving): Promise<FrameServer> {
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
