import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { GenEnvError } from "../../bridge/errors.js";
import { cacheDir } from "../../bridge/python/paths.js";
import { makePrivateDir } from "../../bridge/python/private-dir.js";
import type { PythonSession } from "../../bridge/python/session.js";
import { type RunParts, realParts } from "../run/parts.js";
import { type Opened, parseOpened } from "./messages.js";
import { toModelFolder } from "./model-source.js";
import type { SessionSettings } from "./settings.js";

export interface SessionOptions {
  /** Stops the start. */
  signal?: AbortSignal;
  /** Told what is being waited for. */
  onProgress?: (line: string) => void;
  /** Relative paths and runs/ start here. Default: the process's folder. */
  cwd?: string;
  /** Where the engine's logs go, and stay. Default: the cache's logs/, where those of a session that failed stay. */
  logDir?: string;
  /** For tests.
   *  @internal */
  parts?: RunParts;
}

/** A Python process with a loaded engine below it. */
export interface Engine {
  python: Pick<PythonSession, "call">;
  opened: Opened;
  /** The folder or hub id that was loaded. */
  modelPath: string;
  close(): Promise<void>;
}

/** The one session that a Python process of ours holds. */
export const engineId = "engine";

let logs = 0;

/** Brings a model up; everything is down again where that fails. */
export async function startEngine(
  settings: SessionSettings,
  options: SessionOptions,
): Promise<Engine> {
  const { signal, onProgress = () => {}, parts = realParts, cwd = process.cwd() } = options;
  const cleanups: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  };
  // A start waits for sockets and workers that need not keep Node alive by themselves.
  const alive = setInterval(() => {}, 2 ** 30);
  try {
    const model = toModelFolder(settings.model, cwd);
    const { python: path } = await parts.ensurePython({
      onProgress,
      signal,
      device: settings.device,
    });
    const modelPath = await parts.resolveModel(model, { python: path, baseDir: cwd, onProgress });
    signal?.throwIfAborted();
    const log = openLogs(options.logDir);
    cleanups.push(async () => log.close());
    const dir = await makePrivateDir();
    cleanups.push(() => dir.remove());
    const python = await parts.openPython({ python: path, logFile: log.python });
    cleanups.push(() => python.close({ graceMs: 5_000 }));
    const call = log.watching(python.call);
    onProgress(`loading ${settings.model}`);
    const params = toParams(settings, { modelPath, folder: dir.path, logFile: log.engine });
    const opened = parseOpened(await call("session.open", params, { signal }));
    signal?.throwIfAborted();
    cleanups.push(async () => {
      // Where it can't answer any more, the end of Python, next, takes the engine with it.
      await python.call("session.close", { id: engineId }, { timeoutMs: 15_000 }).catch(() => {});
    });
    return { python: { call }, opened, modelPath, close };
  } catch (error) {
    await close();
    signal?.throwIfAborted();
    throw error;
  } finally {
    clearInterval(alive);
  }
}

function toParams(
  settings: SessionSettings,
  places: { modelPath: string; folder: string; logFile: string },
): object {
  const { device, dtype, maxModelTokens, kvCacheGib, engine } = settings;
  const { modelPath, folder, logFile } = places;
  const own = { device, dtype, maxModelTokens, kvCacheGib, engine };
  return { id: engineId, model: modelPath, folder, logFile, ...own };
}

interface Logs {
  python: string;
  engine: string;
  /** The same call, noting failures. */
  watching(call: PythonSession["call"]): PythonSession["call"];
  /** Removes the logs of a session in which nothing failed, unless the caller named their folder. */
  close(): void;
}

function openLogs(given: string | undefined): Logs {
  const folder = given ?? join(cacheDir(), "logs");
  mkdirSync(folder, { recursive: true });
  const stamp = new Date().toISOString().replace(/[:.]/g, "-");
  const name = join(folder, `session-${stamp}-${process.pid}-${logs++}`);
  const files = { python: `${name}.log`, engine: `${name}.engine.log` };
  let keep = given !== undefined;
  return {
    ...files,
    watching:
      (call) =>
      (...args) =>
        call(...args).catch((error: unknown) => {
          // What the user can mend by its message alone needs no log.
          keep ||= !(error instanceof GenEnvError && error.name === "DataError");
          throw error;
        }),
    close: () => {
      if (!keep) for (const file of Object.values(files)) rmSync(file, { force: true });
    },
  };
}
