import { spawn } from "node:child_process";
import { constants } from "node:os";
import { createInterface } from "node:readline";
import type { Env } from "./paths.js";

export interface CommandOptions {
  env?: Env;
  cwd?: string;
  /** Called with each line of stdout and stderr as it comes. */
  onLine?: (line: string) => void;
  /** Kills the command (SIGTERM) when aborted. */
  signal?: AbortSignal;
  timeoutMs?: number;
}

export interface CommandResult {
  /** The exit code; 127 where the command can't be started, 128 + n where a signal ended it. */
  code: number;
  stdout: string;
  stderr: string;
}

/** What a command printed and how it ended; never throws for a failing or missing command. */
export function runCommand(
  file: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = spawn(file, args, {
      env: options.env as NodeJS.ProcessEnv | undefined,
      cwd: options.cwd,
      signal: options.signal,
      timeout: options.timeoutMs,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const out: string[] = [];
    const err: string[] = [];
    collect(child.stdout, out, options.onLine);
    collect(child.stderr, err, options.onLine);
    let startError: Error | null = null;
    child.on("error", (error) => {
      startError = error;
    });
    child.on("close", (code, signal) => {
      if (startError) err.push(startError.message);
      const ended = signal ? 128 + constants.signals[signal] : (code ?? 127);
      resolve({
        code: startError ? 127 : ended,
        stdout: out.join("\n"),
        stderr: err.join("\n"),
      });
    });
  });
}

function collect(
  stream: NodeJS.ReadableStream,
  lines: string[],
  onLine: CommandOptions["onLine"],
): void {
  createInterface({ input: stream }).on("line", (line) => {
    lines.push(line);
    onLine?.(line);
  });
}
