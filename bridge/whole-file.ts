import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** Writes a whole file or none: a crash leaves the old one, or none, but never a part. */
export function writeFileAtomic(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  const part = `${file}.${process.pid}.part`;
  writeFileSync(part, text);
  putInPlace(part, file);
}

/**
 * Gives a finished file its name. Its bytes reach the disk before the name does, so that a loss of power can't leave
 * the name on an empty file.
 */
export function putInPlace(part: string, file: string): void {
  syncToDisk(part);
  renameSync(part, file);
  syncToDisk(dirname(file));
}

/** Waits until a file's bytes, or a folder's names, are on the disk. */
export function syncToDisk(path: string): void {
  const handle = openSync(path, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
