import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { ConfigError } from "../../bridge/errors.js";
import { processStart } from "../../bridge/process-start.js";

/** Who works in a run's folder; it is there only as long as they do, or after a crash. */
export interface RunLock {
  pid: number;
  /** The process's start in clock ticks since boot, so that a reused pid is not taken for it; null off Linux. */
  processStart: number | null;
  host: string;
  /** ISO 8601. */
  startedAt: string;
}

const lockFile = (runDir: string): string => join(runDir, "run.json");

/**
 * Takes the run's folder for this process and returns how to let go of it. A lock whose process is gone counts for
 * nothing. Throws ConfigError where the run is still under way.
 */
export function lockRun(runDir: string): () => void {
  mkdirSync(runDir, { recursive: true });
  const mine: RunLock = {
    pid: process.pid,
    processStart: processStart(process.pid),
    host: hostname(),
    startedAt: new Date().toISOString(),
  };
  const text = JSON.stringify(mine);
  while (!tryLink(runDir, text)) {
    const held = readText(lockFile(runDir));
    if (held === null) continue;
    const holder = parseLock(held);
    if (holder && isRunning(holder)) throw busy(runDir, holder);
    putAside(runDir, held);
  }
  return () => {
    if (readText(lockFile(runDir)) === text) rmSync(lockFile(runDir), { force: true });
  };
}

/** Who is at work in a run's folder, or null. */
export function lockHolder(runDir: string): RunLock | null {
  const text = readText(lockFile(runDir));
  const holder = text === null ? null : parseLock(text);
  return holder && isRunning(holder) ? holder : null;
}

/** Makes the lock, whole, where there is none: a link never replaces what is there. */
function tryLink(runDir: string, text: string): boolean {
  const part = join(runDir, `.run.json.${process.pid}`);
  writeFileSync(part, text);
  try {
    linkSync(part, lockFile(runDir));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(part, { force: true });
  }
}

/** Takes a dead process's lock away; another's, taken meanwhile, is put back. */
function putAside(runDir: string, dead: string): void {
  const aside = join(runDir, `.run.json.${process.pid}.dead`);
  try {
    renameSync(lockFile(runDir), aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  if (readText(aside) !== dead) renameSync(aside, lockFile(runDir));
  else rmSync(aside, { force: true });
}

function readText(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

function parseLock(text: string): RunLock | null {
  try {
    const lock = JSON.parse(text) as RunLock;
    return Number.isInteger(lock.pid) ? lock : null;
  } catch {
    return null;
  }
}

/** Whether the holder is alive; one on another machine can't be asked, and counts as alive. */
function isRunning({ pid, processStart: start, host }: RunLock): boolean {
  if (host !== hostname()) return true;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  const now = processStart(pid);
  return start === null || now === null || now === start;
}

function busy(runDir: string, { pid, host, startedAt }: RunLock): ConfigError {
  return new ConfigError(
    `the run is still under way: process ${pid} on ${host} has been at it since ${startedAt}`,
    {
      code: "run-busy",
      place: { file: runDir },
      hint: `stop that process first; if ${host} has no such process, remove ${lockFile(runDir)}`,
    },
  );
}
