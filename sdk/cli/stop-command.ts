import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { ConfigError } from "../../bridge/errors.js";
import { findRun } from "../find-run.js";
import { lockHolder } from "../run/lock.js";
import { exitCode } from "./exit.js";
import type { Output } from "./progress.js";

interface Streams {
  output: Output;
  cwd?: string;
  /** Sends the signal; a test puts another in its place. */
  signal?: (pid: number) => void;
  pollMs?: number;
  /** A run gives up after 90 s what it can't end; a moment more for its processes. */
  withinMs?: number;
}

/** `genenv stop`: asks the run's process to end and waits until it has. Never signals a pid that another process has got since. */
export async function stopCommand(
  name: string,
  { json = false }: { json?: boolean },
  streams: Streams,
): Promise<number> {
  const { output, cwd, pollMs = 200, withinMs = 120_000 } = streams;
  const { signal = (pid: number): boolean => process.kill(pid, "SIGTERM") } = streams;
  const place = findRun(name, cwd);
  const holder = lockHolder(place.dir);
  if (!holder) {
    say(output, json, place.name, "not-running", `${place.name} is not running`);
    return exitCode.done;
  }
  if (holder.host !== hostname()) {
    throw new ConfigError(`the run ${place.name} is on ${holder.host}, not on this machine`, {
      code: "run-elsewhere",
      place: { file: place.dir },
      hint: `run genenv stop there, or stop its process ${holder.pid}`,
    });
  }
  signal(holder.pid);
  if (!json) output.write(`asked process ${holder.pid} to end ${place.name}\n`);
  const untilMs = Date.now() + withinMs;
  while (Date.now() < untilMs) {
    const now = lockHolder(place.dir);
    if (now?.pid !== holder.pid || now.startedAt !== holder.startedAt) {
      say(output, json, place.name, "stopped", `${place.name} has ended`);
      return exitCode.done;
    }
    await sleep(pollMs);
  }
  say(output, json, place.name, "running", `${place.name} is still ending: see genenv status`);
  return exitCode.failed;
}

function say(output: Output, json: boolean, name: string, state: string, text: string): void {
  output.write(json ? `${JSON.stringify({ name, state })}\n` : `${text}\n`);
}
