import { spawn } from "node:child_process";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { pythonPackageDir } from "./paths.js";

export interface Reaper {
  /** Has it kill and remove what is left of the session; resolves when that is done. */
  finish(): Promise<void>;
}

// It may have to wait for processes to be gone.
const finishWithinMs = 10_000;

/**
 * Starts the process that cleans up where Node can't: one that outlives Node, however Node ends, then lets the Python
 * process `pid` end, kills what is left of it and removes `folder`.
 */
export function startReaper(python: string, folder: string, pid: number): Reaper {
  const child = spawn(python, ["-S", "-s", "-m", "genenv.reaper", folder, String(pid)], {
    env: { ...process.env, PYTHONPATH: pythonPackageDir() },
    cwd: "/",
    // A session of its own: the terminal's Ctrl-C is not for it.
    detached: true,
    // Node closes a child's stdin when that child exits, as this one does at once: what stays is a child of nobody.
    stdio: ["ignore", "ignore", "ignore", "pipe"],
  });
  const line = child.stdio[3] as Socket;
  const closed = new Promise<void>((resolve) => {
    // Without it, the next session's reaper does the same.
    child.once("error", () => resolve());
    child.once("close", () => resolve());
  });
  // A reaper that was killed has nothing to be told.
  line.on("error", () => {});
  line.resume();
  child.unref();
  line.unref();
  return {
    finish: async () => {
      line.ref();
      line.end();
      await Promise.race([closed, sleep(finishWithinMs, undefined, { ref: false })]);
    },
  };
}
