import { join, resolve } from "node:path";
import { Worker } from "node:worker_threads";
import { cacheDir, type Env, packageRoot, pythonPackageDir } from "./paths.js";
import { type WorkerInput, workerProgram } from "./pythonia-worker.js";

export interface PythonWorkerOptions {
  /** The interpreter: a path, or a name on PATH. */
  python: string;
  env: Env;
  logFile: string;
  /** How long jobs get to end by themselves when Node is gone. */
  graceMs: number;
}

/**
 * The shell script that pythonia starts in Python's place. pythonia hands on our own stdin, stdout and stderr; only its
 * channel, on another descriptor, is to stay.
 */
export const redirectScript = `#!/bin/sh
exec </dev/null >>"$GENENV_PYTHON_LOG" 2>&1
exec "$GENENV_PYTHON_BIN" "$@"
`;

/** Starts the worker thread that starts Python; what pythonia itself prints goes to the log too. */
export function startPythonWorker(
  options: PythonWorkerOptions,
  files: { script: string; socketPath: string; folder: string },
): Worker {
  const workerData: WorkerInput = {
    resolveFrom: join(packageRoot(), "package.json"),
    socketPath: files.socketPath,
    logFile: options.logFile,
    graceSeconds: options.graceMs / 1000,
  };
  return new Worker(workerProgram, {
    eval: true,
    execArgv: [],
    env: variables(options, files),
    workerData,
  });
}

function variables(
  { python, env, logFile }: PythonWorkerOptions,
  { script, folder }: { script: string; folder: string },
): NodeJS.Dict<string> {
  // DEBUG makes pythonia print each message. Without kept bytecode each process would compile torch anew (3 s).
  const { DEBUG: _1, PYTHONDONTWRITEBYTECODE: _2, ...rest } = env;
  return {
    ...rest,
    PYTHONPATH: [pythonPackageDir(), rest.PYTHONPATH].filter(Boolean).join(":"),
    PYTHONUNBUFFERED: "1",
    PYTHON_BIN: script,
    GENENV_PYTHON_BIN: python,
    GENENV_PYTHON_LOG: resolve(logFile),
    // Every process below names the session it belongs to.
    GENENV_FOLDER: folder,
    // By default in the temporary folder, where it would stay; py/genenv/device.py names the same.
    TORCHINDUCTOR_CACHE_DIR: rest.TORCHINDUCTOR_CACHE_DIR ?? join(cacheDir(env), "inductor"),
    // pythonia's own deadline, off: a job may take days.
    REQ_TIMEOUT: "0",
  };
}
