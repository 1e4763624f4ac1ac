/** What the parts of bench:hooks share: their lines, and hosts with one reward. */
import { basename, extname, join } from "node:path";
import { type HookHost, startHookHost } from "../bridge/hooks/host.js";
import type { Limits } from "../bridge/hooks/messages.js";

export type Line = { name: string; ratio: number; atLeast?: number; atMost?: number } & Record<
  string,
  number | string
>;

export type PartOptions = {
  root: string;
  /** A folder of the benchmark's own. */
  dir: string;
  print: (line: Line) => void;
  isQuick: boolean;
};

/** A host with one reward. */
export async function startReward(
  root: string,
  dir: string,
  path: string,
  exportName = "default",
  limits: Partial<Limits> = {},
): Promise<HookHost> {
  const own = join(dir, `${basename(path, extname(path))}-${exportName}`);
  return startHookHost({
    limits,
    modules: {
      reward: { kind: "file", path, exportName },
      environment: null,
      curriculum: null,
      algorithms: null,
    },
    dir: own,
    logFile: join(own, "hooks.log"),
    projectDir: root,
  });
}
