import { join, resolve } from "node:path";
import { ConfigError, PythonError } from "../errors.js";
import { withLock } from "./env-lock.js";
import { inspectEnv, pythonIn, readMarker } from "./env-state.js";
import { findPython, type Interpreter, supportedPythons } from "./interpreter.js";
import { makeEnv } from "./make-env.js";
import { cacheDir, type Env } from "./paths.js";
import { hashPins, type Pins, pinsFor } from "./pins.js";
import { assertPlatform, type Machine } from "./preflight.js";

export interface EnsurePythonOptions {
  /** Each line is whole and meant for the user: what is being installed, sizes, seconds. */
  onProgress?: (line: string) => void;
  /** The variables that steer it: GENENV_PYTHON_ENV, PYTHON, XDG_CACHE_HOME, PIP_*, UV_*, proxies. */
  env?: Env;
  /** Stops the set-up; what is there already is used the next time. */
  signal?: AbortSignal;
  /** Whose packages: genenv.device. Default: auto. */
  device?: "auto" | "cpu" | "cuda";
  /** Other packages than the engines'. */
  pins?: Pins;
  /** For tests. */
  machine?: Machine;
}

export interface PythonEnv {
  /** Absolute path of the environment's Python. The package `genenv` is not installed in it: put pythonPackageDir() on PYTHONPATH. */
  python: string;
  dir: string;
}

/**
 * The Python environment with veRL, vLLM and Ray, made or mended first if need be (about 30 s with warm downloads, minutes
 * without). One folder a set of pins and Python version in the user's cache, shared by all projects; GENENV_PYTHON_ENV names
 * another one. Throws PythonError: "platform", "python-missing", "python-version", "setup-disk", "setup-network", "uv-missing", "setup-failed".
 */
export async function ensurePython(options: EnsurePythonOptions = {}): Promise<PythonEnv> {
  const env = options.env ?? process.env;
  const pins = options.pins ?? pinsFor(options.device ?? "auto");
  assertPlatform(options.machine);
  const ready = findReady(env, pins);
  if (ready) return ready;
  const python = await findPython(env);
  const dir = env.GENENV_PYTHON_ENV
    ? resolve(env.GENENV_PYTHON_ENV)
    : envDir(env, pins, python.minor);
  const onProgress = options.onProgress ?? (() => {});
  await withLock(
    `${dir}.lock`,
    () => makeOrMend(dir, python, { ...options, env, pins, onProgress }),
    {
      onWait: (holder) =>
        onProgress(`waiting for another set-up of the same environment (${holder})`),
      signal: options.signal,
    },
  );
  return { dir, python: pythonIn(dir) };
}

/** The environment ensurePython would use, if it is complete; null where it has to be made or mended. */
export function findReady(env: Env = process.env, pins: Pins = pinsFor("auto")): PythonEnv | null {
  if (env.GENENV_PYTHON_ENV) return override(resolve(env.GENENV_PYTHON_ENV), pins);
  // PYTHON asks for one interpreter, whose version is known only once it has been started.
  if (env.PYTHON) return null;
  for (const minor of supportedPythons) {
    const dir = envDir(env, pins, minor);
    const state = inspectEnv(dir, pins, hashPins(pins, minor));
    if (state.kind === "ready") return { dir, python: pythonIn(dir) };
  }
  return null;
}

function envDir(env: Env, pins: Pins, minor: string): string {
  return join(cacheDir(env), "python", `${minor}-${hashPins(pins, minor)}`);
}

function override(dir: string, pins: Pins): PythonEnv | null {
  const made = readMarker(dir);
  const state = inspectEnv(dir, pins, made && hashPins(pins, made.python));
  if (state.kind === "occupied") {
    throw new ConfigError(`GENENV_PYTHON_ENV=${dir} is not empty and not a Python environment`, {
      code: "python-env-occupied",
      hint: "name an empty or new folder, or a virtual environment of your own",
    });
  }
  return state.kind === "ready" || state.kind === "foreign" ? { dir, python: pythonIn(dir) } : null;
}

async function makeOrMend(
  dir: string,
  python: Interpreter,
  options: EnsurePythonOptions & { env: Env; pins: Pins; onProgress: (line: string) => void },
): Promise<void> {
  const hash = hashPins(options.pins, python.minor);
  const state = inspectEnv(dir, options.pins, hash);
  // Whoever held the lock before may have made it.
  if (state.kind === "ready") return;
  if (state.kind === "broken")
    options.onProgress(`mending the ${options.pins.name}: ${state.reason}`);
  await makeEnv({ ...options, dir, python, hash, cacheDir: cacheDir(options.env) });
  const after = inspectEnv(dir, options.pins, hash);
  if (after.kind === "ready") return;
  throw new PythonError(
    `the ${options.pins.name} in ${dir} is not complete: ${after.kind === "broken" ? after.reason : after.kind}`,
    { code: "setup-failed", hint: `remove ${dir} and run genenv setup` },
  );
}
