import { readFileSync } from "node:fs";

/**
 * When a process started, in clock ticks since boot: with its pid it names a process, since pids are used again. Null
 * for one that is gone, and off Linux.
 */
export function processStart(pid: number): number | null {
  try {
    // The name, in parentheses, may hold spaces; the start is the 20th field after it.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    return Number(fields[19]) || null;
  } catch {
    return null;
  }
}
