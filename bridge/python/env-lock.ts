import { randomBytes } from "node:crypto";
import { mkdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
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
    const holder = await read(file);
    // Given back meanwhile.
    if (holder === null) continue;
    if ((await isStale(file, holder)) && (await removeStale(file, holder))) continue;
    if (!told) options.onWait?.(/^process \d+ on .*/.exec(holder)?.[0] ?? "another process");
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
    // The last line tells this lock from any other, also of the same process.
    const text = `process ${process.pid} on ${hostname()}\n${randomBytes(8).toString("hex")}`;
    await writeFile(file, text, { flag: "wx" });
    return true;
  } catch (error) {
    if (hasErrorCode(error, "EEXIST")) return false;
    throw error;
  }
}

async function isStale(file: string, text: string): Promise<boolean> {
  const holder = /^process (\d+) on (.*)$/m.exec(text);
  if (holder?.[2] === hostname()) return !isAlive(Number(holder[1]));
  return isOld(file);
}

/** False where it is gone by now. */
async function isOld(path: string): Promise<boolean> {
  try {
    return Date.now() - (await stat(path)).mtimeMs > staleMs;
  } catch (error) {
    if (hasErrorCode(error, "ENOENT")) return false;
    throw error;
  }
}

/**
 * Of the waiters that find a dead holder's lock one at a time removes it, and only that very lock: whoever read it
 * earlier could otherwise remove the next holder's. False where it is another waiter's turn.
 */
async function removeStale(file: string, text: string): Promise<boolean> {
  const turn = `${file}.breaking`;
  try {
    await mkdir(turn);
  } catch (error) {
    if (!hasErrorCode(error, "EEXIST")) throw error;
    // Left by a process that died within these few lines.
    if (await isOld(turn)) await rm(turn, { recursive: true, force: true });
    return false;
  }
  try {
    if ((await read(file)) === text) await rm(file, { force: true });
    return true;
  } finally {
    await rm(turn, { recursive: true, force: true });
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
