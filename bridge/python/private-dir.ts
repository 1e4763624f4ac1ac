import { rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

// A Unix socket's path holds 107 bytes; a socket's name inside the folder takes some.
const longestPath = 80;

export interface PrivateDir {
  path: string;
  remove(): Promise<void>;
}

/** A new folder for sockets that only this user can enter; removed by remove() and, at the latest, when Node ends. */
export async function makePrivateDir(): Promise<PrivateDir> {
  const base = Buffer.byteLength(tmpdir()) < longestPath ? tmpdir() : "/tmp";
  const path = await mkdtemp(join(base, "genenv-"));
  const atExit = (): void => rmSync(path, { recursive: true, force: true });
  process.once("exit", atExit);
  return {
    path,
    remove: async () => {
      process.removeListener("exit", atExit);
      await rm(path, { recursive: true, force: true });
    },
  };
}
