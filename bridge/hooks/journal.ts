/**
 * Notes which row runs, in a file, before it runs. Used only for requests that were under way when a host process
 * died: if the host dies again, the next one knows whose row it was.
 */
import { existsSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";

const ENTRY_BYTES = 16;

export class Journal {
  readonly #file: string | null;
  readonly #entry = Buffer.alloc(ENTRY_BYTES);
  #fd: number | null = null;

  constructor(file: string | null) {
    this.#file = file;
  }

  note(requestId: bigint, row: number): void {
    this.#entry.writeBigUInt64LE(requestId, 0);
    this.#entry.writeUInt32LE(row, 8);
    this.#write(1);
  }

  clear(): void {
    this.#write(0);
  }

  #write(isOpen: 0 | 1): void {
    if (this.#file === null) return;
    this.#fd ??= openSync(this.#file, "w", 0o600);
    this.#entry.writeUInt32LE(isOpen, 12);
    writeSync(this.#fd, this.#entry, 0, ENTRY_BYTES, 0);
  }
}

/** The row that was running when the last owner of the file died, or null; the file is removed. */
export function takeJournal(file: string): { requestId: bigint; row: number } | null {
  if (!existsSync(file)) return null;
  const entry = readFileSync(file);
  rmSync(file, { force: true });
  if (entry.length < ENTRY_BYTES || entry.readUInt32LE(12) === 0) return null;
  return { requestId: entry.readBigUInt64LE(0), row: entry.readUInt32LE(8) };
}
