import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { PythonError } from "../errors.js";
import { writeAlias } from "./alias.js";
import { type CommandResult, runCommand } from "./command.js";
import { pythonIn, readMarker, sitePackages, writeMarker } from "./env-state.js";
import type { Interpreter } from "./interpreter.js";
import type { Env } from "./paths.js";
import type { Pins } from "./pins.js";
import { namesOwnSource, readPipSettings, toUvVariables } from "./pip-settings.js";
import { assertDiskSpace } from "./preflight.js";
import { isDiskFull, isNetworkFailure, lastLines, networkError } from "./setup-errors.js";
import { findUv } from "./uv.js";

export interface MakeEnvOptions {
  dir: string;
  python: Interpreter;
  pins: Pins;
  hash: string;
  cacheDir: string;
  env: Env;
  onProgress: (line: string) => void;
  signal?: AbortSignal;
}

const heartbeatMs = 15_000;

/** Makes the environment, or brings a half-made one to what the pins say; the "complete" marker is its last step. */
export async function makeEnv(options: MakeEnvOptions): Promise<void> {
  const { dir, python, pins, hash, onProgress } = options;
  const start = Date.now();
  const keep = existsSync(pythonIn(dir)) && readMarker(dir)?.python === python.minor;
  await assertDiskSpace(dir, keep ? Math.min(1, pins.neededGb) : pins.neededGb, pins.name);
  onProgress(`Python ${python.version} at ${python.path}`);
  const uv = await findUv(python, options.cacheDir, options.env, onProgress);
  const tools = { ...options, uv, variables: await uvVariables(options) };
  if (!keep) {
    await rm(dir, { recursive: true, force: true });
    writeMarker(dir, { state: "building", hash, python: python.minor });
    // The marker is in the folder already, so that a crash from here on is known as ours.
    await runUv(tools, ["venv", "--quiet", "--allow-existing", "--python", python.path, dir]);
  }
  writeMarker(dir, { state: "building", hash, python: python.minor });
  onProgress(
    `installing ${pins.packages.length} packages (about ${pins.installedGb} GB) into ${dir}`,
  );
  await installPackages(tools);
  for (const alias of pins.aliases) await writeAlias(sitePackages(dir, python.minor), alias);
  await importOnce(tools);
  writeMarker(dir, { state: "complete", hash, python: python.minor });
  onProgress(`the ${pins.name} is ready (${seconds(start)} s)`);
}

type Tools = MakeEnvOptions & { uv: string; variables: Env };

async function uvVariables({ env, python }: MakeEnvOptions): Promise<Env> {
  const { VIRTUAL_ENV: _1, CONDA_PREFIX: _2, PYTHONPATH: _3, PYTHONHOME: _4, ...rest } = env;
  const fromPip = toUvVariables(await readPipSettings(python.path, env), env);
  return { ...rest, ...fromPip, UV_NO_PROGRESS: "1", UV_PYTHON_DOWNLOADS: "never" };
}

/** PyPI has CUDA builds of torch and no CPU one: for that the user's own sources are asked first, then the index that uv knows for it. */
async function installPackages(tools: Tools): Promise<void> {
  const args = ["pip", "install", "--no-deps", "--python", pythonIn(tools.dir)];
  const lock = ["-r", tools.pins.lockFile];
  if (tools.pins.torch === "cuda") return runUv(tools, [...args, ...lock]);
  const withBackend = [...args, "--torch-backend=cpu", ...lock];
  if (!namesOwnSource(tools.variables)) {
    await runUv(tools, withBackend);
    return;
  }
  const first = await tryUv(tools, [...args, ...lock]);
  if (first.code === 0) return;
  if (!/no version of torch\b|torch==\S+ has no wheels/i.test(first.stderr)) throw uvError(first);
  await runUv(tools, withBackend);
}

/** Without kept bytecode each of a run's ten processes would compile torch anew (3 s each). */
async function importOnce(tools: Tools): Promise<void> {
  const modules = tools.pins.firstImports;
  if (modules.length === 0) return;
  tools.onProgress("starting the packages once, so that later starts are quick");
  const { PYTHONDONTWRITEBYTECODE: _, ...env } = tools.variables;
  const program = `import ${modules.join(", ")}`;
  const done = await withHeartbeat(tools, "starting the packages", () =>
    runCommand(pythonIn(tools.dir), ["-c", program], { env, signal: tools.signal }),
  );
  if (done.code === 0) return;
  throw new PythonError(
    `the Python packages are installed but do not start: ${lastLines(done.stderr, 1)}`,
    {
      code: "setup-failed",
      hint: "a system library may be missing (see the message); then run genenv setup again",
      traceback: done.stderr,
    },
  );
}

async function runUv(tools: Tools, args: readonly string[]): Promise<void> {
  const done = await tryUv(tools, args);
  if (done.code !== 0) throw uvError(done);
}

async function tryUv(tools: Tools, args: readonly string[]): Promise<CommandResult> {
  return withHeartbeat(tools, "installing", () =>
    runCommand(tools.uv, args, {
      env: tools.variables,
      cwd: dirname(tools.dir),
      signal: tools.signal,
      // " + name==version" for each of 200 packages says nothing new.
      onLine: (line) =>
        /^(Downloading|Prepared|Installed|warning)/.test(line) && tools.onProgress(line),
    }),
  );
}

async function withHeartbeat<T>(tools: Tools, doing: string, work: () => Promise<T>): Promise<T> {
  const start = Date.now();
  const beat = setInterval(
    () => tools.onProgress(`still ${doing} (${seconds(start)} s)`),
    heartbeatMs,
  );
  try {
    const done = await work();
    tools.signal?.throwIfAborted();
    return done;
  } finally {
    clearInterval(beat);
  }
}

function uvError({ stderr }: CommandResult): PythonError {
  if (isDiskFull(stderr)) {
    return new PythonError("the disk is full: the Python packages could not be installed", {
      code: "setup-disk",
      hint: "free about 6 GB, or put the environment elsewhere with GENENV_PYTHON_ENV, then run genenv setup again",
    });
  }
  if (isNetworkFailure(stderr)) return networkError("the Python packages", stderr);
  return new PythonError(`uv could not install the Python packages: ${lastLines(stderr, 6)}`, {
    code: "setup-failed",
    hint: "the lines above are uv's own; mend what they name, then run genenv setup again",
  });
}

function seconds(start: number): string {
  return ((Date.now() - start) / 1000).toFixed(0);
}
