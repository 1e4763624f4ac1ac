import { randomBytes } from "node:crypto";
import { mkdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { hasErrorCode } from "./error-code.js";

const heartbeatMs = 5_000;
/** A holder on another machine (a shared home folder) can only be judged by its heartbeat. */
const staleMs = 60_000;

export interface LockOptions {
  /** Called once, with the holder, when somebody else holds the lock. */
  onWait?: (holder: string) => void;
  signal?: AbortSignal;
  pollMs?: number;
}

/** Runs `work` while this process alone holds the lock file; a dead holder's lock is taken over. */
export async function withLock<T>(
  file: string,
  work: () => Promise<T>,
  options: LockOptions = {},
): Promise<T> {
  await mkdir(dirname(file), { recursive: true });
  let told = false;
  while (!(await tryTake(file))) {
    options.signal?.throwIfAborted();
    if (await isStale(file)) {
      await removeStale(file);
      continue;
    }
    if (!told) options.onWait?.((await read(file)) ?? "another process");
    told = true;
    await sleep(options.pollMs ?? 500);
  }
  const heartbeat = setInterval(() => {
    const now = new Date();
    utimes(file, now, now).catch(() => {
      // Without a heartbeat the lock only looks older to other machines.
    });
  }, heartbeatMs);
  heartbeat.unref();
  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
    await rm(file, { force: true });
  }
}

async function tryTake(file: string): Promise<boolean> {
  try {
    await writeFile(file, `process ${process.pid} on ${hostname()}`, { flag: "wx" });
    return true;
  } catch (error) {
    if (hasErrorCode(error, "EEXIST")) return false;
    throw error;
  }
}

async function isStale(file: string): Promise<boolean> {
  const holder = /^process (\d+) on (.*)$/.exec((await read(file)) ?? "");
  if (holder?.[2] === hostname()) return !isAlive(Number(holder[1]));
  try {
    return Date.now() - (await stat(file)).mtimeMs > staleMs;
  } catch (error) {
    if (hasErrorCode(error, "ENOENT")) return true;
    throw error;
  }
}

// Renaming lets one of several waiters win, so that nobody removes the winner's fresh lock.
async function removeStale(file: string): Promise<void> {
  const aside = `${file}.stale-${randomBytes(4).toString("hex")}`;
  try {
    await rename(file, aside);
    await rm(aside, { force: true });
  } catch (error) {
    if (!hasErrorCode(error, "ENOENT")) throw error;
  }
}

async function read(file: string): Promise<string | null> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (hasErrorCode(error, "ENOENT")) return null;
    throw error;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !hasErrorCode(error, "ESRCH");
  }
}
