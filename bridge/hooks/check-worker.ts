/** A thread that loads one hook, says what it is, and is thrown away. */
import { parentPort, workerData } from "node:worker_threads";
import { GenEnvError } from "../errors.js";
import { importHook } from "./load.js";
import type { ImportRef } from "./messages.js";
import type { CheckedHook } from "./preflight.js";
import { type HookKind, isRewardHook } from "./types.js";

export type CheckStart = { module: ImportRef; kind: HookKind };
export type CheckReply =
  | { type: "checked"; hook: CheckedHook }
  | { type: "load-failed"; code: string; message: string; hint: string | null };

if (parentPort !== null)
  void check(workerData as CheckStart).then((reply) => parentPort?.postMessage(reply));

async function check({ module, kind }: CheckStart): Promise<CheckReply> {
  process.setSourceMapsEnabled(true);
  try {
    const hook = await importHook(module, kind);
    const uses = isRewardHook(hook) ? [...hook.uses] : [];
    return { type: "checked", hook: { kind, name: hook.name, uses } };
  } catch (error) {
    const { code, hint } = error instanceof GenEnvError ? error : { code: "hook-load", hint: null };
    return { type: "load-failed", code, message: (error as Error).message, hint };
  }
}
