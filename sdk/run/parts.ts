import type { HookHost, HookHostOptions } from "../../bridge/hooks/host.js";
import type { ShipOptions } from "../../bridge/hooks/ship.js";
import type { ResolveModelOptions } from "../../bridge/python/models.js";
import type { OpenPythonOptions, PythonSession } from "../../bridge/python/session.js";
import type { EnsurePythonOptions, PythonEnv } from "../../bridge/python/setup.js";

/** What a run is put together from; tests put others in their place. */
export interface RunParts {
  ensurePython(options: EnsurePythonOptions): Promise<PythonEnv>;
  resolveModel(model: string, options: ResolveModelOptions): Promise<string>;
  openPython(options: OpenPythonOptions): Promise<Pick<PythonSession, "call" | "close">>;
  shipHooks(options: ShipOptions): Promise<void>;
  startHookHost(options: HookHostOptions): Promise<Pick<HookHost, "address" | "remote" | "close">>;
}

/** The real parts, each loaded when it is first used. */
export const realParts: RunParts = {
  ensurePython: async (options) =>
    (await import("../../bridge/python/setup.js")).ensurePython(options),
  resolveModel: async (model, options) =>
    (await import("../../bridge/python/models.js")).resolveModel(model, options),
  openPython: async (options) =>
    (await import("../../bridge/python/session.js")).openPython(options),
  shipHooks: async (options) => (await import("../../bridge/hooks/ship.js")).shipHooks(options),
  startHookHost: async (options) =>
    (await import("../../bridge/hooks/host.js")).startHookHost(options),
};
