/** What a connection on one machine has beside its socket: memory for large payloads, and a pipe for short replies. */
import { rmSync } from "node:fs";
import type { SharedBuffers } from "../shared-buffers.js";
import { badFrame, MAPPED_BYTES, PIPE_SUFFIX } from "../wire.js";
import { createMappedFile } from "./mapped-file.js";
import { type OpenLane, openLane, type ReplyLane } from "./reply-lane.js";

export type LocalLink = {
  /** The file that holds payloads; the pipe's name begins with it. */
  path: string;
  /** The payload at the place that a REQUEST_MAPPED names; throws a HookError "bad-frame" outside the file. */
  fetch(place: Uint8Array, buffers: SharedBuffers): Uint8Array;
  /** The client's pipe; null where it has made none. Call it when a frame after the hello has come. */
  lane(): ReplyLane | null;
  /** Gives the lane's number, if there was one. */
  close(): number | null;
};

/** Null where the machine has no shared memory to give: then everything goes through the socket. */
export function openLocalLink(): LocalLink | null {
  const mapped = createMappedFile();
  if (mapped === null) return null;
  const pipePath = `${mapped.path}${PIPE_SUFFIX}`;
  /** Undefined until it was looked for. */
  let pipe: OpenLane | null | undefined;
  return {
    path: mapped.path,
    fetch(place, buffers) {
      if (place.length !== 8) throw badFrame("points into no shared file");
      const view = new DataView(place.buffer, place.byteOffset, place.length);
      const offset = view.getUint32(0, true);
      const length = view.getUint32(4, true);
      if (length > MAPPED_BYTES) throw badFrame(`points at ${length} shared bytes`);
      const bytes = buffers.take(length);
      mapped.read(offset, bytes);
      return bytes;
    },
    lane() {
      if (pipe === undefined) pipe = openLane(pipePath);
      return pipe?.lane ?? null;
    },
    close() {
      mapped.close();
      pipe?.close();
      // One that the client made and never used.
      rmSync(pipePath, { force: true });
      return pipe?.lane.id ?? null;
    },
  };
}
