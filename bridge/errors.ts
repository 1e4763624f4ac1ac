/** Where an error was found, as far as it is known: shown on a line of its own. */
export interface ErrorPlace {
  file?: string;
  /** 1-based. */
  line?: number;
  column?: number;
  /** A config key, a Parquet column, a hook's name: whatever names the spot inside the file. */
  at?: string;
}

export interface GenEnvErrorOptions {
  /** A stable kebab-case name for programs, such as "unknown-key". */
  code: string;
  /** The next step, as an instruction; null when there is none to give. */
  hint?: string | null;
  place?: ErrorPlace | null;
  cause?: unknown;
}

/** The base of every error genenv throws on purpose: message, code, place and next step. */
export class GenEnvError extends Error {
  readonly code: string;
  readonly hint: string | null;
  readonly place: ErrorPlace | null;

  constructor(message: string, options: GenEnvErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = options.code;
    this.hint = options.hint ?? null;
    this.place = options.place ?? null;
  }
}

/** The configuration, the command line or a model path is wrong. */
export class ConfigError extends GenEnvError {}

/** A data file is missing, empty or holds rows that can't be used. */
export class DataError extends GenEnvError {}

/** A user's hook can't be loaded, threw, or gave a result that means nothing. */
export class HookError extends GenEnvError {}

/** The Python side failed: its environment, its process or a job in it. */
export class PythonError extends GenEnvError {
  /** Python's own traceback, for --debug; null when the failure has none. */
  readonly traceback: string | null;

  constructor(message: string, options: GenEnvErrorOptions & { traceback?: string | null }) {
    super(message, options);
    this.traceback = options.traceback ?? null;
  }
}

/** A process of ours died or stopped answering: the hook host, a hook worker, a Ray worker. */
export class WorkerError extends GenEnvError {}

/** Said of the operating system's own errors, by their code. */
const systemErrors: Record<string, { code: string; what: string; hint: string }> = {
  ENOSPC: {
    code: "disk-full",
    what: "no room is left on the disk",
    hint: "make room, or take another disk: trainer.default_local_dir for runs, TMPDIR for temporary files",
  },
  EDQUOT: {
    code: "disk-full",
    what: "your quota of the disk is used up",
    hint: "make room, or take another disk: trainer.default_local_dir for runs, TMPDIR for temporary files",
  },
  EACCES: {
    code: "no-access",
    what: "access is denied",
    hint: "give yourself the right, or take another folder",
  },
  EROFS: {
    code: "no-access",
    what: "the file system is read-only",
    hint: "take another folder",
  },
};

/** A full disk or a folder without access in genenv's words, whoever came upon it; other errors as they are. */
export function inOurWords(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof GenEnvError) return error;
  const { code = "", path, syscall } = error as NodeJS.ErrnoException;
  const known = syscall === "watch" ? undefined : systemErrors[code];
  if (known === undefined) return error;
  return new GenEnvError(`${known.what}: ${error.message}`, {
    code: known.code,
    hint: known.hint,
    place: path === undefined ? null : { file: path },
    cause: error,
  });
}

/** True for errors the user can mend before anything runs: the CLI leaves with 2 for them. */
export function isUsageError(error: unknown): boolean {
  if (error instanceof ConfigError || error instanceof DataError) return true;
  return error instanceof GenEnvError && usageCodes.has(error.code);
}

// Hook and set-up failures that are found before a run starts.
const usageCodes = new Set([
  "hook-missing",
  "hook-compile",
  "hook-load",
  "hook-export",
  "hook-types",
  "python-missing",
  "python-version",
  "platform",
  "uv-missing",
  "setup-disk",
  "setup-network",
  "uv-missing",
  "setup-failed",
]);

/**
 * Text for the terminal: the message, its place and the next step, a line each.
 * With `debug`, the stack (and Python's traceback) of the error and of its causes follow.
 */
export function formatError(error: unknown, options: { debug?: boolean } = {}): string {
  const lines = [`error: ${messageOf(error)}`];
  if (error instanceof GenEnvError) {
    if (error.place) lines.push(`  at: ${formatPlace(error.place)}`);
    if (error.hint) lines.push(`  next: ${error.hint}`);
  } else if (!options.debug) {
    lines.push("  next: run it again with --debug to see where this came from");
  }
  if (options.debug) lines.push("", ...stacksOf(error));
  return lines.join("\n");
}

function formatPlace(place: ErrorPlace): string {
  const spot = [place.file, place.line, place.column].filter((part) => part !== undefined);
  return [spot.join(":"), place.at].filter(Boolean).join(", ");
}

function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message || error.name;
  return String(error);
}

function stacksOf(error: unknown): string[] {
  const stacks: string[] = [];
  const seen = new Set<unknown>();
  for (let at: unknown = error; at instanceof Error && !seen.has(at); at = at.cause) {
    seen.add(at);
    stacks.push(`${seen.size > 1 ? "caused by " : ""}${at.stack ?? at.message}`);
    if (at instanceof PythonError && at.traceback) stacks.push(at.traceback.trimEnd());
  }
  return stacks;
}
