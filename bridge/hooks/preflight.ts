/** Looks at a hook before anything starts: does it load, and is it what it should be? */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { HookError } from "../errors.js";
import { compileHook, type FileRef } from "./bundle.js";
import type { CheckReply, CheckStart } from "./check-worker.js";
import { importHook } from "./load.js";
import { ownFile } from "./own-file.js";
import type {
  CurriculumHook,
  EnvironmentHook,
  HookKind,
  RewardColumn,
  RewardHook,
} from "./types.js";

export type CheckedHook = { kind: HookKind; name: string; uses: RewardColumn[] };

export type HookOfKind = {
  reward: RewardHook;
  environment: EnvironmentHook;
  curriculum: CurriculumHook;
};

const LOAD_TIMEOUT_MS = 15_000;

/**
 * Compiles a hook file and loads it in a thread that is thrown away, so that not even an endless top-level loop can
 * hang the caller. Throws a HookError: hook-missing, hook-compile, hook-load or hook-export.
 */
export async function checkHook(
  ref: FileRef,
  kind: HookKind,
  projectDir: string,
  timeoutMs = LOAD_TIMEOUT_MS,
): Promise<CheckedHook> {
  const module = await compileHook(ref, projectDir);
  const workerData: CheckStart = { module, kind };
  const worker = new Worker(ownFile("check-worker.js"), { workerData, stdout: true, stderr: true });
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const reply = await Promise.race([
      once(worker, "message", { signal }).then(([message]) => message as CheckReply),
      once(worker, "exit", { signal }).then(([code]) =>
        loadError(module.source, `ended its thread with code ${code}`),
      ),
    ]);
    if (reply.type === "checked") return reply.hook;
    const { message, code, hint } = reply;
    throw new HookError(message, { code, hint, place: { file: module.source } });
  } catch (error) {
    if (error instanceof HookError) throw error;
    const { message, code, hint } = loadError(
      module.source,
      (error as Error).name === "AbortError" || (error as Error).name === "TimeoutError"
        ? `was not loaded after ${timeoutMs / 1000} s; is there a loop in its top-level code?`
        : `failed while it was loaded: ${(error as Error).message}`,
    );
    throw new HookError(message, { code, hint, place: { file: module.source }, cause: error });
  } finally {
    void worker.terminate();
  }
}

/** The hook itself, loaded into this process once `checkHook` has found it harmless to load. */
export async function loadHook<Kind extends HookKind>(
  ref: FileRef,
  kind: Kind,
  projectDir: string,
): Promise<HookOfKind[Kind]> {
  await checkHook(ref, kind, projectDir);
  process.setSourceMapsEnabled(true);
  return (await importHook(await compileHook(ref, projectDir), kind)) as HookOfKind[Kind];
}

function loadError(source: string, what: string): Extract<CheckReply, { type: "load-failed" }> {
  return {
    type: "load-failed",
    code: "hook-load",
    message: `${source} ${what}`,
    hint: "a hook file's own top-level code must run quickly and without the trainer",
  };
}
