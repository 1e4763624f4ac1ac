/**
 * A connection's pipe for replies: the worker that finishes a batch of plain scores answers it by itself, and the host's
 * own thread need not wake up between the worker and the client. For connections with shared memory, so on Linux only.
 */
import { closeSync, constants, fstatSync, openSync, rmSync, writeSync } from "node:fs";
import { HEADER_BYTES, PIPE_REPLY_BYTES } from "../wire.js";

/** The pipe as workers know it: each opens it for itself, and knows by the inode that it is the same. */
export type ReplyLane = { id: number; path: string; inode: number };
export type OpenLane = { lane: ReplyLane; close(): void };

/** Rows whose reply a pipe takes as a whole or not at all. */
export const MAX_LANE_ROWS = Math.floor((PIPE_REPLY_BYTES - HEADER_BYTES) / 8);

let laneCount = 0;

/** The pipe that the client made at a path, or null where it made none. The name goes, the pipe stays. */
export function openLane(path: string): OpenLane | null {
  const pipe = openPipe(path, constants.O_NOFOLLOW);
  if (pipe === null) return null;
  rmSync(path, { force: true });
  const { fd, inode } = pipe;
  laneCount += 1;
  return {
    lane: { id: laneCount, path: `/proc/self/fd/${fd}`, inode },
    close: () => closeSync(fd),
  };
}

/** A worker's own ends of the pipes that it has written to. */
export class LaneWriter {
  readonly #open = new Map<number, number>();

  /** Sends a frame; false where the pipe is full or its reader is gone, and then nothing was sent. */
  send(lane: ReplyLane, frame: Uint8Array): boolean {
    const fd = this.#open.get(lane.id) ?? this.#join(lane);
    if (fd === null) return false;
    try {
      return writeSync(fd, frame) === frame.length;
    } catch {
      // The host's own thread answers over the socket instead, and says what is wrong with that.
      return false;
    }
  }

  close(id: number): void {
    const fd = this.#open.get(id);
    if (fd === undefined) return;
    this.#open.delete(id);
    closeSync(fd);
  }

  #join({ id, path, inode }: ReplyLane): number | null {
    const pipe = openPipe(path, 0);
    if (pipe === null) return null;
    if (pipe.inode !== inode) {
      // The connection closed meanwhile, and its number is another file's.
      closeSync(pipe.fd);
      return null;
    }
    this.#open.set(id, pipe.fd);
    return pipe.fd;
  }
}

/** A pipe for writing that never waits; null where there is none that somebody reads. */
function openPipe(path: string, flags: number): { fd: number; inode: number } | null {
  let fd: number;
  try {
    fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK | flags);
  } catch {
    return null;
  }
  const stat = fstatSync(fd);
  if (stat.isFIFO()) return { fd, inode: stat.ino };
  closeSync(fd);
  return null;
}
