import type { HookHostOptions } from "../../../bridge/hooks/host.js";
import type { CallOptions } from "../../../bridge/python/session.js";
import type { RunParts } from "../../../sdk/run/parts.js";

export interface FakeCall {
  method: string;
  params: Record<string, unknown>;
}

export interface FakeParts extends RunParts {
  calls: FakeCall[];
  hosts: HookHostOptions[];
  /** Folders that hooks were shipped into. */
  shipped: string[];
  /** What has been opened and not closed. */
  open: Set<string>;
}

type Job = (params: Record<string, unknown>, options: CallOptions) => Promise<unknown>;

export const fakeResult = {
  epochs: 2,
  steps: 2,
  checkpoint: "/c",
  stopped: false,
  metrics: { a: 1 },
};

/** The jobs of a Python that trains two epochs at once. */
export const fakeJobs: Record<string, Job> = {
  check: async () => ({}),
  train: async (_params, { onEvent }) => {
    const at = (epoch: number): object => ({ epoch, step: epoch });
    for (const epoch of [1, 2]) {
      onEvent?.({
        ...at(epoch),
        type: "phase",
        phase: "agent-rollout",
        role: "agent",
        detail: null,
      });
      onEvent?.({
        ...at(epoch),
        type: "metrics",
        phase: "agent",
        values: { "agent/reward_mean": epoch / 4 },
      });
      onEvent?.({
        ...at(epoch),
        type: "metrics",
        phase: "environment",
        values: { "tasks/kept": 3 },
      });
      onEvent?.({
        ...at(epoch),
        type: "phase",
        phase: "epoch-end",
        role: null,
        detail: null,
      });
    }
    return fakeResult;
  },
};

/** Parts of a run without Python and without a hook process; `jobs` replace the fake's own. */
export function fakeParts(jobs: Record<string, Job> = {}): FakeParts {
  const calls: FakeCall[] = [];
  const hosts: HookHostOptions[] = [];
  const shipped: string[] = [];
  const open = new Set<string>();
  return {
    calls,
    hosts,
    shipped,
    open,
    ensurePython: async () => ({ python: "/fake/python", dir: "/fake" }),
    resolveModel: async (model) =>
      model.startsWith("builtin:") ? `/models/${model.slice(8)}` : model,
    shipHooks: async ({ dir }) => {
      shipped.push(dir);
    },
    startHookHost: async (options) => {
      hosts.push(options);
      open.add("hooks");
      return {
        address: "unix:/fake.sock",
        remote: options.tcp ? { address: `tcp:${options.tcp.host}:7000`, token: "t0" } : null,
        close: async () => {
          open.delete("hooks");
        },
      };
    },
    openPython: async () => {
      open.add("python");
      let end: (error: Error) => void = () => {};
      const closed = new Promise<never>((_, reject) => {
        end = reject;
      });
      closed.catch(() => {});
      return {
        call: (method, params = {}, options = {}) => {
          calls.push({ method, params: params as Record<string, unknown> });
          const job = { ...fakeJobs, ...jobs }[method];
          if (!job) return Promise.reject(new Error(`no job ${method}`));
          return Promise.race([job(params as Record<string, unknown>, options), closed]);
        },
        close: async () => {
          open.delete("python");
          end(new Error("closed"));
        },
      };
    },
  };
}
