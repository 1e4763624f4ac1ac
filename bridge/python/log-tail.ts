import { closeSync, existsSync, fstatSync, openSync, readSync } from "node:fs";

const tailBytes = 16 * 1024;

/** The last `count` lines that aren't blank of what was appended to `file` after byte `from`; [] where there is no file. */
export function readLogTail(file: string, from: number, count: number): string[] {
  if (!existsSync(file)) return [];
  const fd = openSync(file, "r");
  try {
    const { size } = fstatSync(fd);
    const start = Math.max(from, size - tailBytes);
    const bytes = Buffer.alloc(Math.max(0, size - start));
    readSync(fd, bytes, 0, bytes.length, start);
    const lines = bytes.toString("utf8").split(/\r?\n|\r/);
    return lines.filter((line) => line.trim() !== "").slice(-count);
  } finally {
    closeSync(fd);
  }
}
