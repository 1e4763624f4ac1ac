import {
  formatError,
  GenEnvError,
  inOurWords,
  isUsageError,
  PythonError,
} from "../../bridge/errors.js";
import { killPythons } from "../../bridge/python/running.js";
import { toSafeText } from "./progress-text.js";

/** What a command ends with: 0 done, 1 failed or stopped, 2 the command, the configuration or an input is wrong. */
export const exitCode = { done: 0, failed: 1, usage: 2 } as const;

export function exitCodeOf(error: unknown): number {
  return isUsageError(error) ? exitCode.usage : exitCode.failed;
}

/** Ends this process and all below it now; what they leave on the machine goes within seconds. */
export function leaveNow(): never {
  killPythons();
  process.exit(exitCode.failed);
}

/** Runs a command's action and sets the process's exit code; errors are shown on stderr, or as JSON on stdout. */
export async function runAction(
  options: { debug?: boolean; json?: boolean },
  action: () => Promise<number>,
): Promise<void> {
  try {
    process.exitCode = await action();
  } catch (thrown) {
    const error = inOurWords(thrown);
    process.exitCode = exitCodeOf(error);
    if (options.json) process.stdout.write(`${JSON.stringify(toJsonError(error))}\n`);
    else process.stderr.write(`${toSafeText(formatError(error, options))}\n`);
  }
}

function toJsonError(error: unknown): Record<string, unknown> {
  const message = error instanceof Error ? error.message : String(error);
  const known = error instanceof GenEnvError ? error : null;
  return {
    type: "error",
    code: known?.code ?? "unexpected",
    message,
    hint: known?.hint ?? null,
    place: known?.place ?? null,
    traceback: error instanceof PythonError ? error.traceback : null,
  };
}
