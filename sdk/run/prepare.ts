import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "../../bridge/errors.js";
import type { HookHost } from "../../bridge/hooks/host.js";
import { hookDoor, type RemoteDoor } from "../../bridge/hooks/route.js";
import { isRewardHook, type RewardHook } from "../../bridge/hooks/types.js";
import type { ResolveModelOptions } from "../../bridge/python/models.js";
import { cacheDir } from "../../bridge/python/paths.js";
import { makePrivateDir } from "../../bridge/python/private-dir.js";
import type { PythonSession } from "../../bridge/python/session.js";
import type { ResolvedConfig } from "../config/resolve.js";
import { type Tree, withAt } from "../config/tree.js";
import { assertGroundTruths, type RunData, toVerlFiles } from "../preflight/data.js";
import { preflight } from "../preflight/preflight.js";
import { type GivenHooks, toHookModules } from "./hook-modules.js";
import { lockRun } from "./lock.js";
import type { RunParts } from "./parts.js";
import { together } from "./together.js";

/** Everything up and checked, before anything of Ray, veRL or vLLM has started. */
export interface Prepared {
  session: Pick<PythonSession, "call" | "close">;
  /** What the jobs "check", "check-cluster" and "train" take. */
  params: Record<string, unknown>;
}

export interface PrepareOptions {
  config: ResolvedConfig;
  hooks: GivenHooks;
  parts: RunParts;
  /** Stops the preparation with an AbortError. */
  signal: AbortSignal;
  onDetail(detail: string): void;
  onWarning(code: string, message: string): void;
}

/**
 * Checks a run (cheapest checks first), brings its parts up, and hands them to `work`; they are down again when this
 * settles, however it does. A run that fails a check leaves no folder behind.
 */
export async function withPreparedRun<T>(
  options: PrepareOptions,
  work: (prepared: Prepared) => Promise<T>,
): Promise<T> {
  const { config, signal, onDetail } = options;
  const ends: Ends = { hooks: [], python: [] };
  const isNew = !existsSync(config.runDir);
  // What a run waits for (a socket, a worker thread) need not keep Node alive by itself.
  const alive = setInterval(() => {}, 2 ** 30);
  let unlock = (): void => {};
  try {
    unlock = lockRun(config.runDir);
    onDetail("checking the configuration and the data");
    const logs = join(config.runDir, "logs");
    mkdirSync(logs, { recursive: true });
    // Read once, for both; Python is on its way up meanwhile.
    const data = preflight(config);
    const [hooks, { session, params }] = await together(
      signal,
      (signal) => bringHooks({ ...options, signal }, data, { logs, ends: ends.hooks }),
      (signal) => bringPython({ ...options, signal }, data, { logs, ends: ends.python }),
    );
    signal.throwIfAborted();
    const whole = { ...params, hooks: { ...hooks, token: null } };
    // Whether the nodes of a cluster reach the hooks can be seen only now.
    if (config.genenv.ray_address !== null) await session.call("check-cluster", whole, { signal });
    signal.throwIfAborted();
    return await work({ session, params: whole });
  } finally {
    // Python first: its jobs may still ask the hooks.
    for (const end of [...ends.python.reverse(), ...ends.hooks.reverse()]) await end();
    unlock();
    if (isNew) removeUnused(config.runDir);
    clearInterval(alive);
  }
}

type End = () => Promise<void>;
type Ends = Record<"hooks" | "python", End[]>;

/** The hooks up, and the data as the reward wants it. */
async function bringHooks(
  options: PrepareOptions,
  reading: Promise<RunData>,
  { logs, ends }: { logs: string; ends: End[] },
): Promise<Hooks> {
  const data = await reading;
  options.signal.throwIfAborted();
  const hooks = await startHost(options, logs, ends);
  await assertRewardTakes(options, data);
  return hooks;
}

/** Python up, and its check passed; `params` lack the hooks. */
async function bringPython(
  options: PrepareOptions,
  reading: Promise<RunData>,
  { logs, ends }: { logs: string; ends: End[] },
): Promise<Prepared> {
  const { config, parts, signal, onDetail } = options;
  const { python } = await parts.ensurePython({
    onProgress: onDetail,
    signal,
    device: config.genenv.device,
  });
  const session = await parts.openPython({ python, logFile: join(logs, "python.log") });
  ends.push(() => session.close());
  const models = await resolveModels(options, { python, session });
  const params = toParams(config, models, await verlFiles(config, await reading));
  signal.throwIfAborted();
  onDetail("checking prompts and veRL's configuration");
  sayMemory(await session.call("check", params, { signal }), onDetail);
  return { session, params };
}

/** What the check estimates of each role's GPUs, where it could. */
function sayMemory(checked: unknown, say: (detail: string) => void): void {
  const { memory } = (checked ?? {}) as { memory?: Record<string, string> };
  for (const [role, text] of Object.entries(memory ?? {})) {
    say(`memory of a GPU, GiB, about, for the ${role}: ${text}`);
  }
}

async function startHost(
  { config, hooks, parts, onDetail, onWarning }: PrepareOptions,
  logs: string,
  ends: End[],
): Promise<Hooks> {
  onDetail("loading the hooks");
  const dir = await makePrivateDir();
  ends.push(() => dir.remove());
  const { timeout_ms, batch_timeout_ms, heap_mb, concurrency } = config.genenv.hooks;
  const modules = toHookModules(config, hooks);
  const host = await parts.startHookHost({
    modules,
    dir: dir.path,
    logFile: join(logs, "hooks.log"),
    limits: {
      timeoutMs: timeout_ms,
      batchTimeoutMs: batch_timeout_ms,
      heapMb: heap_mb,
      concurrency,
    },
    projectDir: config.projectDir,
    tcp: await remoteDoor(config),
    onEvent: (event) => {
      if (event.type === "warning") onWarning(event.code, event.message);
    },
  });
  ends.push(() => host.close());
  const { address, remote } = host;
  if (config.genenv.hooks.placement === "driver") return { address, remote, bundle: null };
  const bundle = join(dir.path, "hooks");
  await parts.shipHooks({ modules, projectDir: config.projectDir, dir: bundle });
  return { address, remote, bundle };
}

/** Where the loop finds the hooks. */
interface Hooks extends Pick<HookHost, "address" | "remote"> {
  /** A folder with all of them, to be run on every node. */
  bundle: string | null;
}

/** Where reward workers on other nodes reach the hooks; null where there are no others, or each has a host of its own. */
async function remoteDoor({ genenv, placeOf }: ResolvedConfig): Promise<RemoteDoor | null> {
  const { ray_address: ray, hooks } = genenv;
  if (ray === null || hooks.placement === "node") return null;
  return hookDoor(hooks.address, ray, placeOf(["genenv", "ray_address"]));
}

/** Checks the data against the reward's own schema, once its host has shown that it loads. */
async function assertRewardTakes({ config, hooks }: PrepareOptions, data: RunData): Promise<void> {
  const reward = hooks.reward ?? (await loadReward(config));
  if (config.genenv.labels === "majority" && !reward?.extract) {
    throw new ConfigError(
      "genenv.labels is majority, and the reward doesn't say which answer a response gives",
      {
        code: "no-extract",
        place: config.placeOf(["genenv", "labels"]),
        hint: "give defineReward an `extract(response)`, or let the parse hook compute groundTruth (genenv.labels: environment)",
      },
    );
  }
  if (reward) assertGroundTruths([...data.train, ...data.validation], reward);
}

async function loadReward(config: ResolvedConfig): Promise<RewardHook | null> {
  const { reward: ref } = toHookModules(config);
  if (ref?.kind !== "file") return null;
  const [{ compileHook }, { importHook }] = await Promise.all([
    import("../../bridge/hooks/bundle.js"),
    import("../../bridge/hooks/load.js"),
  ]);
  const hook = await importHook(await compileHook(ref, config.projectDir), "reward");
  return isRewardHook(hook) ? hook : null;
}

interface Models {
  agent: string;
  environment: string | null;
}

async function resolveModels(
  { config, parts, onDetail }: PrepareOptions,
  python: Pick<ResolveModelOptions, "python" | "session">,
): Promise<Models> {
  const resolve = (model: string): Promise<string> =>
    parts.resolveModel(model, { ...python, baseDir: config.projectDir, onProgress: onDetail });
  const { agentModel, envModelPath } = config;
  const agent = await resolve(agentModel);
  if (envModelPath === null || envModelPath === "agent")
    return { agent, environment: envModelPath };
  return { agent, environment: envModelPath === agentModel ? agent : await resolve(envModelPath) };
}

async function verlFiles(config: ResolvedConfig, data: RunData): Promise<Tree> {
  const folder = join(config.runDir, "data");
  return {
    train_files: await toVerlFiles(data.train, join(folder, "train")),
    val_files: await toVerlFiles(data.validation, join(folder, "validation")),
  };
}

function toParams(config: ResolvedConfig, models: Models, files: Tree): Record<string, unknown> {
  const { agent, environment, added, deleted } = config.verl;
  const filled = (tree: Tree, model: string): Tree =>
    withAt(withAt(tree, ["data"], files), ["actor_rollout_ref", "model", "path"], model);
  const separate = models.environment !== null && models.environment !== "agent";
  return {
    runDir: config.runDir,
    name: config.name,
    cacheDir: cacheDir(),
    genenv: config.genenv,
    verl: {
      agent: filled(agent, models.agent),
      environment: filled(environment, separate ? String(models.environment) : models.agent),
      added,
      deleted,
    },
    envModelPath: models.environment,
    hooks: null,
    resume: config.resume,
  };
}

/** Takes away the folder of a run that never began: one with nothing but logs and converted data. */
function removeUnused(runDir: string): void {
  if (!existsSync(runDir)) return;
  const begun = readdirSync(runDir).some((name) => name !== "logs" && name !== "data");
  if (!begun) rmSync(runDir, { recursive: true, force: true });
}
