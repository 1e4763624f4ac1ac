import {
  ConfigError,
  DataError,
  type GenEnvError,
  HookError,
  PythonError,
  WorkerError,
} from "../errors.js";
import type { JobFailure } from "./control-messages.js";

const kinds = { ConfigError, DataError, HookError, WorkerError };

/**
 * The error that a failed job rejects with: the type of the same name where Python raised one of genenv's own
 * (its `cause` is a PythonError with the traceback), else a PythonError that names Python's type.
 */
export function toJobError(failure: JobFailure, method: string, logFile: string): GenEnvError {
  const { type, code, message, traceback } = failure;
  const name = type.startsWith("genenv.errors.") ? type.slice("genenv.errors.".length) : null;
  const hint = failure.hint ?? (name ? null : `the whole log is ${logFile}`);
  if (name && name in kinds) {
    const cause = new PythonError(`${type} in the job "${method}"`, { code, traceback });
    return new kinds[name as keyof typeof kinds](message, { code, hint, cause });
  }
  const text = name ? message : `the job "${method}" failed with ${type}: ${message}`;
  return new PythonError(text, { code, hint, traceback });
}

/** How Python ended, in the user's words, with the last lines of its log. */
export function toDeathError(
  exit: { code: number | null; signal: string | null },
  doing: string,
  log: { file: string; lines: readonly string[] },
): PythonError {
  const how = exit.signal ? `was ended by ${exit.signal}` : `ended with exit code ${exit.code}`;
  const killed = exit.signal === "SIGKILL" ? " (the system does that when memory runs out)" : "";
  const last = log.lines.map((line) => `\n    ${line}`).join("");
  return new PythonError(
    `Python ${how}${killed} ${doing}${last ? `; its log ends with:${last}` : "; its log is empty"}`,
    { code: "python-died", hint: `the whole log is ${log.file}` },
  );
}
