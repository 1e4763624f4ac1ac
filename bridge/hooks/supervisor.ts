/** Owns the host process: starts it, starts it again when it dies, and ends it with everything it started. */
import { type ChildProcess, fork } from "node:child_process";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { HookError, WorkerError } from "../errors.js";
import type { Op } from "../wire.js";
import { failureEvent, type HookHostEvent } from "./host-event.js";
import type { FromHost, HostReload, HostStart } from "./host-main.js";
import type { HookInfo } from "./load.js";
import { removeMappedFilesOf } from "./mapped-file.js";
import type { Limits, ModuleSet } from "./messages.js";
import { ownFile } from "./own-file.js";
import type { Door } from "./server.js";

export type SuperviseOptions = {
  modules: ModuleSet;
  limits: Limits;
  doors: readonly Door[];
  dir: string;
  logFile: string | null;
  projectDir: string;
  expectReload?: boolean | undefined;
  onEvent: (event: HookHostEvent) => void;
};

export type SupervisedHost = {
  /** In the order of `doors`. */
  addresses: string[];
  readonly pid: number;
  info: HookInfo;
  /** Loads other modules in place of these, in the same process; what is under way ends with the old ones. */
  reload(modules: ModuleSet): Promise<HookInfo>;
  close(): Promise<void>;
};

/** How long a host may take to load the hooks: their top-level code may loop. */
const START_TIMEOUT_MS = 30_000;
const MAX_QUICK_DEATHS = 5;
const QUICK_MS = 2_000;

export async function superviseHost(options: SuperviseOptions): Promise<SupervisedHost> {
  const journalDir = join(options.dir, "journal");
  await rm(journalDir, { recursive: true, force: true });
  mkdirSync(journalDir, { recursive: true, mode: 0o700 });
  const asyncOps: Op[] = [];
  let doors = options.doors;
  let modules = options.modules;
  let isClosed = false;
  let quickDeaths = 0;
  let current: { child: ChildProcess; ended: Promise<void> };

  const launch = async (): Promise<{ addresses: string[]; info: HookInfo }> => {
    const startedMs = performance.now();
    const child = forkHost(options);
    const ended = new Promise<void>((resolve) =>
      child.once("exit", () => {
        if (child.pid !== undefined) removeMappedFilesOf(child.pid);
        resolve();
      }),
    );
    current = { child, ended };
    const { limits, logFile } = options;
    const start: HostStart = {
      type: "start",
      modules,
      limits,
      doors: [...doors],
      logFile,
      journalDir,
      asyncOps,
      workerFile: ownFile("worker.js"),
      expectReload: options.expectReload ?? false,
    };
    const ready = await hostReady(child, start, (message) => {
      if (message.type === "async") asyncOps.push(message.op);
      if (message.type === "failure") options.onEvent(failureEvent(message.failure));
      if (message.type === "log") options.onEvent({ type: "log", message: message.line });
    });
    child.unref();
    child.channel?.unref();
    child.once("exit", (code, signal) => {
      if (isClosed) return;
      quickDeaths = performance.now() - startedMs < QUICK_MS ? quickDeaths + 1 : 1;
      void relaunch(signal ?? `code ${code}`);
    });
    return ready;
  };
  const relaunch = async (how: string): Promise<void> => {
    options.onEvent({
      type: "warning",
      code: "hook-host-died",
      message: `the hook host died (${how}); starting it again`,
    });
    if (quickDeaths > MAX_QUICK_DEATHS)
      await new Promise((resolve) => setTimeout(resolve, 500 * quickDeaths));
    if (isClosed) return;
    try {
      await launch();
    } catch (error) {
      if (isClosed) return;
      options.onEvent({
        type: "warning",
        code: "hook-host-lost",
        message: `the hook host can't be started again: ${(error as Error).message}`,
      });
    }
  };

  const { addresses, info } = await launch();
  // A host that is started again is found where the first one was.
  doors = doors.map(({ listen, token }, index) => {
    if (!("port" in listen)) return { listen, token };
    return { listen: { ...listen, port: Number(addresses[index]?.split(":").at(-1)) }, token };
  });
  return {
    addresses,
    info,
    get pid() {
      return current.child.pid ?? -1;
    },
    reload: async (next) => {
      const loaded = await hostReloaded(current.child, next);
      modules = next;
      return loaded;
    },
    close: async () => {
      isClosed = true;
      // Unreferenced while it runs, so that it keeps nobody alive; its end is worth waiting for.
      current.child.ref();
      endGroup(current.child);
      await current.ended;
      await rm(journalDir, { recursive: true, force: true });
    },
  };
}

function forkHost({ logFile, projectDir }: SuperviseOptions): ChildProcess {
  if (logFile !== null) mkdirSync(dirname(logFile), { recursive: true });
  const output = logFile === null ? "ignore" : openSync(logFile, "a", 0o600);
  const child = fork(ownFile("host-main.js"), [], {
    cwd: projectDir,
    // A group of its own: a Ctrl-C at the terminal is the parent's to handle, and the hooks' child processes end too.
    detached: true,
    execArgv: ["--enable-source-maps"],
    serialization: "advanced",
    stdio: ["ignore", output, output, "ipc"],
  });
  if (typeof output === "number") closeSync(output);
  return child;
}

function hostReady(
  child: ChildProcess,
  start: HostStart,
  onMessage: (message: FromHost) => void,
): Promise<{ addresses: string[]; info: HookInfo }> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      clearTimeout(timer);
      endGroup(child);
      reject(error);
    };
    const timer = setTimeout(() => {
      const files = Object.values(start.modules)
        .map((ref) => ref?.source)
        .filter(Boolean);
      fail(
        new HookError(
          `the hooks were not loaded after ${START_TIMEOUT_MS / 1000} s: ${files.join(", ")}`,
          {
            code: "hook-load",
            hint: "look for a loop or a wait in the top-level code of these files",
          },
        ),
      );
    }, START_TIMEOUT_MS);
    child.on("message", (message: FromHost) => {
      if (message.type === "ready") {
        clearTimeout(timer);
        resolve(message);
      } else if (message.type === "failed") {
        fail(new HookError(message.message, { code: message.code, hint: message.hint }));
      } else onMessage(message);
    });
    child.once("error", fail);
    child.once("exit", (code, signal) => {
      fail(
        new WorkerError(`the hook host ended with ${signal ?? `code ${code}`} while it started`, {
          code: "hook-host",
          hint: start.logFile === null ? null : `its last words are in ${start.logFile}`,
        }),
      );
    });
    child.send(start);
  });
}

/** Resolves when the host works with the modules; rejects with the HookError of those that can't be loaded. */
function hostReloaded(child: ChildProcess, modules: ModuleSet): Promise<HookInfo> {
  return new Promise((resolve, reject) => {
    const end = (act: () => void): void => {
      clearTimeout(timer);
      child.off("message", hear);
      child.off("exit", lost);
      act();
    };
    const fail = (message: string, code: string, hint: string | null): void =>
      end(() => reject(new HookError(message, { code, hint })));
    const lost = (): void =>
      fail("the hook host ended while it loaded the hooks", "hook-host", null);
    const hear = (message: FromHost): void => {
      if (message.type === "reloaded") end(() => resolve(message.info));
      else if (message.type === "failed") fail(message.message, message.code, message.hint);
    };
    const timer = setTimeout(
      () => fail(`the hooks were not loaded after ${START_TIMEOUT_MS / 1000} s`, "hook-load", null),
      START_TIMEOUT_MS,
    );
    child.on("message", hear);
    child.once("exit", lost);
    child.send({ type: "reload", modules } satisfies HostReload);
  });
}

function endGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(process.platform === "win32" ? child.pid : -child.pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
