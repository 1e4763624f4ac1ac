import { closeSync, existsSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ConfigError } from "../../bridge/errors.js";
import { findRun } from "../find-run.js";
import { lockHolder } from "../run/lock.js";
import { exitCode } from "./exit.js";
import type { Output } from "./progress.js";
import { toSafeText } from "./progress-text.js";

interface Streams {
  output: Output;
  cwd?: string;
  onInterrupt(listener: () => void): () => void;
  pollMs?: number;
}

// The end of a log that is looked through for its last lines.
const tailBytes = 256 * 1024;

/** `genenv logs`: the last lines of each log, and with --follow what comes after. */
export async function logsCommand(
  name: string,
  options: { follow?: boolean; lines: string },
  { output, cwd, onInterrupt, pollMs = 500 }: Streams,
): Promise<number> {
  const lines = toCount(options.lines);
  const { dir } = findRun(name, cwd);
  const seen = new Map<string, number>();
  const say = (file: string, text: string[]): void => {
    const label = basename(file, ".log").padEnd(11);
    for (const line of text) output.write(`${label} | ${toSafeText(line)}\n`);
  };
  for (const file of logsIn(dir)) {
    const size = statSync(file).size;
    say(file, lastLines(read(file, Math.max(0, size - tailBytes), size), lines));
    seen.set(file, size);
  }
  if (!options.follow) return exitCode.done;
  let stopped = false;
  const release = onInterrupt(() => {
    stopped = true;
  });
  try {
    for (;;) {
      const running = lockHolder(dir) !== null;
      for (const file of logsIn(dir)) {
        const { text, end } = grown(file, seen.get(file) ?? 0, running);
        seen.set(file, end);
        say(file, text);
      }
      if (stopped || !running) return exitCode.done;
      await sleep(pollMs);
    }
  } finally {
    release();
  }
}

function logsIn(dir: string): string[] {
  const logs = join(dir, "logs");
  if (!existsSync(logs)) return [];
  return readdirSync(logs)
    .filter((name) => name.endsWith(".log"))
    .sort()
    .map((name) => join(logs, name));
}

/** The whole lines after `start`; a part of a line waits for its end as long as the run goes on. */
function grown(file: string, start: number, running: boolean): { text: string[]; end: number } {
  const size = statSync(file).size;
  // A log that has become shorter was begun again.
  const from = size < start ? 0 : start;
  const bytes = read(file, from, Math.min(size, from + tailBytes * 16));
  const whole = running ? bytes.lastIndexOf(10) + 1 : bytes.length;
  return { text: toLines(bytes.subarray(0, whole)), end: from + whole };
}

function read(file: string, start: number, end: number): Buffer {
  const bytes = Buffer.alloc(Math.max(0, end - start));
  const handle = openSync(file, "r");
  try {
    return bytes.subarray(0, readSync(handle, bytes, 0, bytes.length, start));
  } finally {
    closeSync(handle);
  }
}

const lastLines = (bytes: Buffer, count: number): string[] =>
  count === 0 ? [] : toLines(bytes).slice(-count);

function toLines(bytes: Buffer): string[] {
  const lines = bytes.toString("utf8").split("\n");
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

function toCount(text: string): number {
  if (/^\d{1,7}$/.test(text)) return Number(text);
  throw new ConfigError(`--lines takes a whole number, not ${JSON.stringify(text)}`, {
    code: "bad-option",
    hint: "such as -n 100",
  });
}
