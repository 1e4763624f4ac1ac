import type { SharedBuffers } from "./shared-buffers.js";
import { badFrame, decodeHeader, HEADER_BYTES, type Header } from "./wire.js";

/** A frame's payload lies in shared memory, which workers can read without a copy. */
export type Frame = { header: Header; payload: Uint8Array };

/**
 * Cuts a byte stream into frames.
 *
 * A payload is copied once, from the socket's chunk into its shared buffer. Throws a HookError "bad-frame" at
 * the first header that is wrong; the stream can't be used after that.
 */
export class FrameReader {
  readonly #head = Buffer.alloc(HEADER_BYTES);
  #headFilled = 0;
  #header: Header | null = null;
  #payload: Uint8Array = new Uint8Array(0);
  #bodyFilled = 0;

  /** The largest payload accepted from now on. */
  constructor(
    public maxPayloadBytes: number,
    readonly buffers: SharedBuffers,
  ) {}

  /** True when the stream may end here without cutting a frame. */
  get isBetweenFrames(): boolean {
    return this.#header === null && this.#headFilled === 0;
  }

  /** Feeds a chunk; calls `onFrame` for every frame it completes. */
  push(chunk: Buffer, onFrame: (frame: Frame) => void): void {
    let at = 0;
    while (at < chunk.length) {
      at = this.#header === null ? this.#readHead(chunk, at) : this.#readBody(chunk, at);
      if (this.#header !== null && this.#bodyFilled === this.#payload.length) {
        const frame = { header: this.#header, payload: this.#payload };
        this.#header = null;
        onFrame(frame);
      }
    }
  }

  /** Call at the end of the stream; throws when it ends inside a frame. */
  end(): void {
    if (!this.isBetweenFrames) throw badFrame("is cut short by the end of the connection");
  }

  #readHead(chunk: Buffer, at: number): number {
    const end = Math.min(chunk.length, at + HEADER_BYTES - this.#headFilled);
    this.#headFilled += chunk.copy(this.#head, this.#headFilled, at, end);
    if (this.#headFilled < HEADER_BYTES) return end;
    this.#header = decodeHeader(this.#head, this.maxPayloadBytes);
    this.#headFilled = 0;
    this.#payload = this.buffers.take(this.#header.length);
    this.#bodyFilled = 0;
    return end;
  }

  #readBody(chunk: Buffer, at: number): number {
    const end = Math.min(chunk.length, at + this.#payload.length - this.#bodyFilled);
    this.#bodyFilled += chunk.copy(this.#payload, this.#bodyFilled, at, end);
    return end;
  }
}
