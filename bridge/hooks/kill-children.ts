import { readFileSync } from "node:fs";

/** Kills the child processes that a thread started, with theirs. `threadPath` is the thread's folder under /proc. */
export function killChildren(threadPath: string | null, log: (line: string) => void): void {
  if (threadPath === null) return;
  for (const pid of descendants(threadPath)) {
    try {
      process.kill(pid, "SIGKILL");
      log(`killed process ${pid}, which a stopped hook was waiting for`);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
}

function descendants(threadPath: string): number[] {
  return childrenOf(threadPath).flatMap((pid) => [pid, ...descendants(`/proc/${pid}/task/${pid}`)]);
}

function childrenOf(threadPath: string): number[] {
  try {
    return readFileSync(`${threadPath}/children`, "utf8")
      .trim()
      .split(/\s+/)
      .filter(Boolean)
      .map(Number);
  } catch {
    // The thread has ended meanwhile, and its children with it or to another parent.
    return [];
  }
}
