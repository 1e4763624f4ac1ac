/** Starts the hook host and keeps it up: the hook plane's Node end, as the rest of the package sees it. */

import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HookError } from "../errors.js";
import { HookCompiler } from "./bundle.js";
import { createHandler } from "./handler.js";
import { failureEvent, type HookHostEvent } from "./host-event.js";
import { withDefaultLimits } from "./limits.js";
import { asHook, describeHooks, type HookInfo, importHooks } from "./load.js";
import { createLocalRunner } from "./local-runner.js";
import type { ImportRef, Limits, ModuleSet } from "./messages.js";
import type { Algorithms, Hooks } from "./ops.js";
import { type Door, openDoors } from "./server.js";
import { superviseHost } from "./supervisor.js";
import type { CurriculumHook, EnvironmentHook, HookKind, RewardHook } from "./types.js";

export type { HookHostEvent } from "./host-event.js";

/** Where a hook comes from: a file that runs isolated, or a value of this process. */
export type ModuleRef =
  | { kind: "file"; path: string; exportName: string }
  | { kind: "value"; hook: unknown };

export type HookModules = {
  reward: ModuleRef | null;
  environment: ModuleRef | null;
  curriculum: ModuleRef | null;
  /** The loop's formulas, as `Algorithms` has them. */
  algorithms: ModuleRef | null;
};

export type HookHostOptions = {
  modules: HookModules;
  /** A folder of this run's own; made private to the user. */
  dir: string;
  /** Where the hooks' own output goes; null drops it. */
  logFile: string | null;
  limits?: Partial<Limits>;
  /** Relative hook paths and packages resolve from here. */
  projectDir: string;
  /** Listen on TCP too, with a token of this run's own, for reward workers on other machines. Port 0 picks one. */
  tcp?: { host: string; port?: number } | null;
  /** `reload` will be called, and should be quick: a worker and the compiler are kept ready for it. */
  expectReload?: boolean;
  onEvent?: (event: HookHostEvent) => void;
};

export type HookHost = {
  /** A Unix socket in `dir`. */
  address: string;
  /** Where other machines reach it, and what they must say first; null without `tcp`. */
  remote: { address: string; token: string } | null;
  /** The host process; this process where a hook is a value. */
  readonly pid: number;
  info: HookInfo;
  /**
   * Compiles and loads the hooks anew, in the same process: seconds faster than another host. Where that can't be, it
   * rejects and goes on with those it has. Null for hooks that are values.
   */
  reload: (() => Promise<HookInfo>) | null;
  close(): Promise<void>;
};

/** Linux allows 107 bytes of socket path. */
const MAX_SOCKET_PATH = 100;

export async function startHookHost(options: HookHostOptions): Promise<HookHost> {
  const limits = withDefaultLimits(options.limits ?? {});
  const dir = await privateDir(options.dir);
  const doors: Door[] = [{ listen: { path: join(dir.path, "hooks.sock") }, token: null }];
  const token = randomBytes(32).toString("hex");
  if (options.tcp) {
    doors.push({ listen: { host: options.tcp.host, port: options.tcp.port ?? 0 }, token });
  }
  const isolated = Object.values(options.modules).every(
    (ref) => ref === null || ref.kind === "file",
  );
  const start = isolated ? startIsolated : startInProcess;
  try {
    const host = await start({ ...options, dir: dir.path, limits, doors });
    const [address = "", tcpAddress] = host.addresses;
    return {
      info: host.info,
      address,
      remote: tcpAddress === undefined ? null : { address: tcpAddress, token },
      reload: host.reload,
      close: async () => {
        await host.close();
        await dir.remove();
      },
      get pid() {
        return host.pid;
      },
    };
  } catch (error) {
    await dir.remove();
    throw error;
  }
}

type Started = Omit<HookHost, "address" | "remote"> & { addresses: string[] };
type StartOptions = Omit<HookHostOptions, "limits"> & { limits: Limits; doors: Door[] };

async function startIsolated(options: StartOptions): Promise<Started> {
  const compiler = new HookCompiler(options.projectDir, options.expectReload ?? false);
  const modules = await compileModules(options.modules, compiler);
  const onEvent = options.onEvent ?? (() => {});
  const host = await superviseHost({ ...options, modules, onEvent });
  const { addresses, info } = host;
  return {
    addresses,
    info,
    close: async () => {
      await compiler.close();
      await host.close();
    },
    reload: async () => host.reload(await compileModules(options.modules, compiler)),
    get pid() {
      return host.pid;
    },
  };
}

async function startInProcess(options: StartOptions): Promise<Started> {
  const { limits, doors, onEvent = () => {} } = options;
  warnOnce(onEvent);
  const hooks = await collectHooks(options.modules, options.projectDir);
  const info = describeHooks(hooks);
  const run = createLocalRunner(hooks, limits);
  const log = (message: string): void => onEvent({ type: "log", message });
  const handle = createHandler({
    info,
    hasAlgorithms: hooks.algorithms !== null,
    run,
    onFailure: (failure) => onEvent(failureEvent(failure)),
  });
  const { addresses, close } = await openDoors(doors, { handle, log });
  return { addresses, pid: process.pid, info, reload: null, close };
}

let isWarned = false;

function warnOnce(onEvent: (event: HookHostEvent) => void): void {
  if (isWarned) return;
  isWarned = true;
  const message =
    "a hook given as a function runs in this process: a deadline can't stop an endless loop in it; " +
    "give it as a file (genenv.hooks.reward: ./reward.ts) to run it isolated";
  onEvent({ type: "warning", code: "hook-in-process", message });
}

async function compileModules(modules: HookModules, compiler: HookCompiler): Promise<ModuleSet> {
  const compile = async (ref: ModuleRef | null): Promise<ImportRef | null> =>
    ref?.kind === "file" ? compiler.compile(ref) : null;
  const [reward, environment, curriculum, algorithms] = await Promise.all([
    compile(modules.reward),
    compile(modules.environment),
    compile(modules.curriculum),
    compile(modules.algorithms),
  ]);
  return {
    reward: reward ?? null,
    environment: environment ?? null,
    curriculum: curriculum ?? null,
    algorithms: algorithms ?? null,
  };
}

/** All hooks in this process: values as they are, files imported. */
async function collectHooks(modules: HookModules, projectDir: string): Promise<Hooks> {
  const fromFiles = await importHooks(
    await compileModules(modules, new HookCompiler(projectDir, false)),
  );
  const value = (kind: HookKind): unknown => {
    const ref = modules[kind];
    return ref?.kind === "value" ? asHook(ref.hook, kind, `the value given as ${kind}`) : null;
  };
  const algorithms = modules.algorithms;
  return {
    reward: (value("reward") as RewardHook | null) ?? fromFiles.reward,
    environment: (value("environment") as EnvironmentHook | null) ?? fromFiles.environment,
    curriculum: (value("curriculum") as CurriculumHook | null) ?? fromFiles.curriculum,
    algorithms:
      algorithms?.kind === "value" ? (algorithms.hook as Algorithms) : fromFiles.algorithms,
  };
}

/** The run's folder for the socket, or a temporary one where its path is too long for a socket. */
async function privateDir(path: string): Promise<{ path: string; remove: () => Promise<void> }> {
  if (Buffer.byteLength(path) + "/hooks.sock".length > MAX_SOCKET_PATH) {
    const short = await mkdtemp(join(tmpdir(), "genenv-"));
    return { path: short, remove: () => rm(short, { recursive: true, force: true }) };
  }
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    chmodSync(path, 0o700);
  } catch (error) {
    throw new HookError(
      `the hook host's folder ${path} can't be made private: ${(error as Error).message}`,
      {
        code: "hook-host",
        hint: "give a folder on a file system of this machine that you own",
        cause: error,
      },
    );
  }
  return { path, remove: () => rm(join(path, "hooks.sock"), { force: true }) };
}
