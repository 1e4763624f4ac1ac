/**
 * Shared memory that is used again and again: a fresh buffer of megabytes costs more in page faults than the copy into
 * it. Not for buffers that a killed worker may still hold: let those go.
 */
export class SharedBuffers {
  readonly #free: SharedArrayBuffer[] = [];
  #freeBytes = 0;

  /** `maxBytes` bounds what is kept for later. */
  constructor(readonly maxBytes: number) {}

  /** So many bytes of shared memory, with whatever was in them before. */
  take(bytes: number): Uint8Array {
    const size = Math.max(MIN_BYTES, 2 ** Math.ceil(Math.log2(Math.max(1, bytes))));
    const index = this.#free.findIndex((buffer) => buffer.byteLength === size);
    const [known] = index === -1 ? [] : this.#free.splice(index, 1);
    if (known !== undefined) this.#freeBytes -= size;
    return new Uint8Array(known ?? new SharedArrayBuffer(size), 0, bytes);
  }

  /** Takes a buffer back that nobody reads any more. */
  give(bytes: Uint8Array): void {
    const { buffer } = bytes;
    if (!(buffer instanceof SharedArrayBuffer)) return;
    if (this.#freeBytes + buffer.byteLength > this.maxBytes) return;
    this.#free.push(buffer);
    this.#freeBytes += buffer.byteLength;
  }
}

const MIN_BYTES = 1 << 12;
