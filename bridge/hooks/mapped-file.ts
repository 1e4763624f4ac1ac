/** A connection's file in shared memory, from which large payloads are read at once and not by 64 KB from a socket. */
import { randomBytes } from "node:crypto";
import { closeSync, existsSync, openSync, readdirSync, readSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { badFrame, MAPPED_BYTES } from "../wire.js";

export type MappedFile = {
  path: string;
  /** Fills `into` with the bytes from `offset` on; throws a HookError "bad-frame" outside the file. */
  read(offset: number, into: Uint8Array): void;
  close(): void;
};

const FOLDER = "/dev/shm";

const nameFor = (pid: number): string => `genenv-${pid}-`;

/** Null where there is no shared memory, or not enough of it: then everything goes through the socket. */
export function createMappedFile(): MappedFile | null {
  if (!existsSync(FOLDER)) return null;
  const path = join(FOLDER, `${nameFor(process.pid)}${randomBytes(8).toString("hex")}`);
  const fd = openReserved(path);
  if (fd === null) return null;
  return {
    path,
    read(offset, into) {
      if (offset + into.length > MAPPED_BYTES) {
        throw badFrame(`points at [${offset}, +${into.length}) of ${MAPPED_BYTES} shared bytes`);
      }
      let filled = 0;
      while (filled < into.length) {
        const read = readSync(fd, into, filled, into.length - filled, offset + filled);
        if (read === 0) throw badFrame("points into a shared file that was cut short");
        filled += read;
      }
    },
    close() {
      closeSync(fd);
      // The client removes it as soon as it has opened it.
      rmSync(path, { force: true });
    },
  };
}

/** Removes what a process that has ended had no time to: files of connections whose clients never opened them. */
export function removeMappedFilesOf(pid: number): void {
  if (!existsSync(FOLDER)) return;
  const left = readdirSync(FOLDER).filter((name) => name.startsWith(nameFor(pid)));
  for (const name of left) rmSync(join(FOLDER, name), { force: true });
}

/** The file with its memory reserved: a page that is missing later would kill the client with a signal. */
function openReserved(path: string): number | null {
  let fd: number | null = null;
  try {
    fd = openSync(path, "wx+", 0o600);
    const zeros = Buffer.alloc(1 << 20);
    for (let at = 0; at < MAPPED_BYTES; at += zeros.length) writeAll(fd, zeros, at);
    return fd;
  } catch {
    // Full or not ours to write in: the socket does the same, only slower.
    if (fd !== null) closeSync(fd);
    rmSync(path, { force: true });
    return null;
  }
}

function writeAll(fd: number, bytes: Buffer, position: number): void {
  let done = 0;
  while (done < bytes.length) {
    done += writeSync(fd, bytes, done, bytes.length - done, position + done);
  }
}
