import { rmSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { processStart } from "../process-start.js";

// A Unix socket's path holds 107 bytes. Ray's longest takes 82 of them after the temporary folder:
// /genenv-123456/ray/session_2026-01-01_00-00-00_000000_1234567/sockets/plasma_store
const longestBase = 25;

/** Who made a private folder; py/genenv/private_folder.py reads it where that process is dead. */
export const ownerFile = "owner.json";

export interface PrivateDir {
  path: string;
  remove(): Promise<void>;
}

/**
 * A new folder for sockets that only this user can enter; removed by remove() and, at the latest, when Node ends. Where
 * Node is killed, the reaper of a Python session removes it, or that of the next one.
 */
export async function makePrivateDir(): Promise<PrivateDir> {
  const base = Buffer.byteLength(tmpdir()) <= longestBase ? tmpdir() : "/tmp";
  const path = await mkdtemp(join(base, "genenv-"));
  const atExit = (): void => rmSync(path, { recursive: true, force: true });
  process.once("exit", atExit);
  const owner = { pid: process.pid, processStart: processStart(process.pid), host: hostname() };
  await writeFile(join(path, ownerFile), JSON.stringify(owner));
  return {
    path,
    remove: async () => {
      process.removeListener("exit", atExit);
      await rm(path, { recursive: true, force: true });
    },
  };
}
