/** The hook host: a process of its own that serves hooks from worker threads, and ends when its parent does. */
import { appendFileSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { GenEnvError } from "../errors.js";
import type { Op } from "../wire.js";
import { createHandler } from "./handler.js";
import { takeJournal } from "./journal.js";
import type { HookInfo } from "./load.js";
import type { Limits, ModuleSet } from "./messages.js";
import { Pool } from "./pool.js";
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
};
export type ToHost = HostStart | { type: "close" };
export type FromHost =
  | { type: "ready"; addresses: string[]; info: HookInfo }
  | { type: "failed"; code: string; message: string; hint: string | null }
  | { type: "async"; op: Op }
  | { type: "failure"; failure: Failed }
  | { type: "log"; line: string };

function main(): void {
  if (process.send === undefined) return;
  process.on("message", (message: ToHost) => {
    if (message.type === "start") void serve(message);
    else end();
  });
  process.on("disconnect", end);
}

async function serve(start: HostStart): Promise<void> {
  const log = (line: string): void => {
    if (start.logFile !== null)
      appendFileSync(start.logFile, `${new Date().toISOString()} [host] ${line}\n`);
    tell({ type: "log", line });
  };
  const pool = new Pool({
    ...start,
    accused: takeAccused(start.journalDir),
    onAsync: (op) => tell({ type: "async", op }),
    log,
  });
  try {
    const info = await pool.start();
    const handle = createHandler({
      info,
      hasAlgorithms: start.modules.algorithms !== null,
      run: (request, signal) => pool.run(request, signal),
      onFailure: (failure) => tell({ type: "failure", failure }),
    });
    const { addresses } = await openDoors(start.doors, { handle, log });
    tell({ type: "ready", addresses, info });
  } catch (error) {
    const { code, hint } = error instanceof GenEnvError ? error : { code: "hook-host", hint: null };
    tell({ type: "failed", code, message: (error as Error).message, hint });
  }
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
