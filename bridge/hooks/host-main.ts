/** The hook host: a process of its own that serves hooks from worker threads, and ends when its parent does. */
import { appendFileSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { GenEnvError } from "../errors.js";
import type { Op } from "../wire.js";
import type { Handler } from "./connection.js";
import { createHandler } from "./handler.js";
import { takeJournal } from "./journal.js";
import type { HookInfo } from "./load.js";
import type { Limits, ModuleSet } from "./messages.js";
import { Pool } from "./pool.js";
import { type BareWorker, bareWorker } from "./seat.js";
import { type Door, openDoors } from "./server.js";
import type { Failed } from "./types.js";

export type HostStart = {
  type: "start";
  modules: ModuleSet;
  limits: Limits;
  doors: Door[];
  logFile: string | null;
  journalDir: string;
  asyncOps: Op[];
  workerFile: string;
  /** Other modules will come, and soon: a worker is kept ready for them. */
  expectReload: boolean;
};
/** Other modules take the place of those that are loaded. */
export type HostReload = { type: "reload"; modules: ModuleSet };
export type ToHost = HostStart | HostReload | { type: "close" };
export type FromHost =
  | { type: "ready"; addresses: string[]; info: HookInfo }
  | { type: "failed"; code: string; message: string; hint: string | null }
  | { type: "reloaded"; info: HookInfo }
  | { type: "async"; op: Op }
  | { type: "failure"; failure: Failed }
  | { type: "log"; line: string };

/** How long after a load the workers that are not needed at once are started. */
const CALM_MS = 300;

function main(): void {
  if (process.send === undefined) return;
  let reload: ((modules: ModuleSet) => Promise<void>) | null = null;
  process.on("message", async (message: ToHost) => {
    if (message.type === "start") reload = await serve(message);
    else if (message.type === "reload") await reload?.(message.modules);
    else end();
  });
  process.on("disconnect", end);
}

/** Serves until the process ends; gives the function that loads other modules, or null where it couldn't start. */
async function serve(start: HostStart): Promise<((modules: ModuleSet) => Promise<void>) | null> {
  const log = (line: string): void => {
    if (start.logFile !== null)
      appendFileSync(start.logFile, `${new Date().toISOString()} [host] ${line}\n`);
    tell({ type: "log", line });
  };
  let waiting: BareWorker | null = null;
  const load = async (modules: ModuleSet): Promise<Loaded> => {
    const first = waiting;
    waiting = null;
    const pool = new Pool({
      ...start,
      modules,
      first,
      restDelayMs: start.expectReload ? CALM_MS : null,
      accused: takeAccused(start.journalDir),
      onAsync: (op) => tell({ type: "async", op }),
      log,
    });
    const info = await pool.start().catch(async (error: unknown) => {
      await pool.close();
      throw error;
    });
    const handle = createHandler({
      info,
      hasAlgorithms: modules.algorithms !== null,
      run: (request, signal) => pool.run(request, signal),
      onFailure: (failure) => tell({ type: "failure", failure }),
    });
    return { pool, info, handle };
  };
  /** Prepares the worker of the next reload, when what follows this one is done. */
  const prepare = (): void => {
    if (!start.expectReload) return;
    setTimeout(() => {
      waiting ??= bareWorker(start.workerFile, start.limits.heapMb);
    }, CALM_MS);
  };
  // While the first worker loads: the first reply that is more than plain scores shall not wait for it.
  void import("../arrow-write.js");
  try {
    let loaded = await load(start.modules);
    prepare();
    const handle: Handler = (request) => loaded.handle(request);
    const onLaneClosed = (lane: number): void => loaded.pool.forgetLane(lane);
    const { addresses } = await openDoors(start.doors, { handle, log, onLaneClosed });
    tell({ type: "ready", addresses, info: loaded.info });
    return async (modules) => {
      const { pool } = loaded;
      try {
        loaded = await load(modules);
      } catch (error) {
        tellFailure(error);
        return;
      } finally {
        prepare();
      }
      tell({ type: "reloaded", info: loaded.info });
      await pool.close();
    };
  } catch (error) {
    tellFailure(error);
    return null;
  }
}

type Loaded = { pool: Pool; info: HookInfo; handle: Handler };

function tellFailure(error: unknown): void {
  const { code, hint } = error instanceof GenEnvError ? error : { code: "hook-host", hint: null };
  tell({ type: "failed", code, message: (error as Error).message, hint });
}

/** Every row that was running at the death of this run's earlier hosts, by request. */
function takeAccused(journalDir: string): Map<bigint, Set<number>> {
  const book = join(journalDir, "accused");
  for (const name of readdirSync(journalDir).filter((file) => file.startsWith("journal-"))) {
    const entry = takeJournal(join(journalDir, name));
    if (entry !== null) appendFileSync(book, `${entry.requestId} ${entry.row}\n`);
  }
  const accused = new Map<bigint, Set<number>>();
  const lines = existsSync(book) ? readFileSync(book, "utf8").trim().split("\n") : [];
  for (const line of lines) {
    const [id, row] = line.split(" ") as [string, string];
    accused.set(BigInt(id), (accused.get(BigInt(id)) ?? new Set()).add(Number(row)));
  }
  return accused;
}

function tell(message: FromHost): void {
  if (process.connected) process.send?.(message);
}

/** Ends this process and whatever its hooks started: it leads a process group of its own. */
function end(): void {
  process.kill(process.platform === "win32" ? process.pid : -process.pid, "SIGKILL");
}

main();
