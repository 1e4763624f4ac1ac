/** Mutated request frames against the decoder of the Node side; shared by the tests and `npm run fuzz`. */
import { readTextBatch } from "../../bridge/arrow-read.js";
import { HookError } from "../../bridge/errors.js";
import { FrameReader } from "../../bridge/frame-reader.js";
import { seededRandom } from "../../bridge/hooks/random.js";
import { SharedBuffers } from "../../bridge/shared-buffers.js";
import { MAX_PAYLOAD_BYTES } from "../../bridge/wire.js";

/** Decodes so many mutations of good frames. Returns how many were refused; throws on any other end than a HookError. */
export function fuzzRequests(good: Buffer[], frames: number, seed: string): number {
  const random = seededRandom(seed);
  let refused = 0;
  for (let i = 0; i < frames; i++) {
    const frame = mutate(good[Math.floor(random() * good.length)] as Buffer, random);
    try {
      decodeRequest(frame);
    } catch (error) {
      if (!(error instanceof HookError) || error.code !== "bad-frame") throw error;
      refused += 1;
    }
  }
  return refused;
}

const buffers = new SharedBuffers(0);

function decodeRequest(bytes: Buffer): void {
  // Cells are read too: a column that was accepted must be readable to its end.
  const reader = new FrameReader(MAX_PAYLOAD_BYTES >> 8, buffers);
  reader.push(bytes, ({ payload }) => {
    const { rows, columns } = readTextBatch(payload);
    for (const column of columns.values()) {
      for (let row = 0; row < Math.min(rows, 100); row++) column.get(row);
    }
  });
  reader.end();
}

function mutate(frame: Buffer, random: () => number): Buffer {
  let bytes: Buffer = Buffer.from(frame);
  const edits = 1 + Math.floor(random() * 4);
  for (let edit = 0; edit < edits; edit++) bytes = edited(bytes, random);
  return bytes;
}

function edited(bytes: Buffer, random: () => number): Buffer {
  const at = Math.floor(random() * bytes.length);
  const choice = Math.floor(random() * 6);
  if (choice === 0 && bytes.length > 0) {
    bytes[at] = (bytes[at] as number) ^ (1 << Math.floor(random() * 8));
    return bytes;
  }
  if (choice === 1) return bytes.subarray(0, at);
  if (choice === 2) return splice(bytes, at, 4, Buffer.alloc(4, random() < 0.5 ? 0xff : 0));
  if (choice === 3) return splice(bytes, at, 4, Buffer.from([255, 255, 255, 127]));
  if (choice === 4) return splice(bytes, at, 0, Buffer.alloc(8, Math.floor(random() * 256)));
  // The header stays right, so that the Arrow reader gets its share of nonsense.
  const body = Math.min(bytes.length - 1, 20 + Math.floor(random() * 600));
  if (body >= 20) bytes[body] = Math.floor(random() * 256);
  return bytes;
}

function splice(bytes: Buffer, at: number, drop: number, insert: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, at), insert, bytes.subarray(at + drop)]);
}
