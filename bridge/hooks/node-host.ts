/**
 * The hook host of a cluster's node: `node node-host.js` in a folder that shipHooks filled. Its start is a JSON line on
 * stdin, its answer one on stdout, and it ends when stdin does.
 */
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { GenEnvError } from "../errors.js";
import { withDefaultLimits } from "./limits.js";
import type { ImportRef, Limits, ModuleSet } from "./messages.js";
import { superviseHost } from "./supervisor.js";

export interface NodeStart {
  /** A folder of this host's own, made and removed by it; its socket is hooks.sock in it. */
  dir: string;
  limits: Partial<Limits>;
}
export type NodeReady =
  | { address: string; pid: number }
  | { code: string; message: string; hint: string | null };

if (process.argv[1] === fileURLToPath(import.meta.url)) main();

function main(): void {
  const lines = createInterface({ input: process.stdin });
  let close = async (): Promise<void> => {};
  lines.once("line", async (line) => {
    const start = JSON.parse(line) as NodeStart;
    try {
      const host = await open(start);
      close = async () => {
        await host.close();
        rmSync(start.dir, { recursive: true, force: true });
      };
      tell({ address: host.addresses[0] ?? "", pid: host.pid });
    } catch (error) {
      const { code, hint } =
        error instanceof GenEnvError ? error : { code: "hook-host", hint: null };
      tell({ code, message: (error as Error).message, hint });
    }
  });
  lines.once("close", () => void close().finally(() => process.exit(0)));
}

async function open({ dir, limits }: NodeStart): ReturnType<typeof superviseHost> {
  const here = dirname(fileURLToPath(import.meta.url));
  mkdirSync(dir, { mode: 0o700 });
  return superviseHost({
    modules: modulesIn(here),
    limits: withDefaultLimits(limits),
    doors: [{ listen: { path: join(dir, "hooks.sock") }, token: null }],
    dir,
    logFile: join(dir, "hooks.log"),
    projectDir: here,
    onEvent: ({ type, message }) => process.stderr.write(`${type}: ${message}\n`),
  });
}

function modulesIn(folder: string): ModuleSet {
  const shipped = JSON.parse(readFileSync(join(folder, "modules.json"), "utf8")) as ModuleSet;
  const entries = Object.entries(shipped).map(([kind, ref]: [string, ImportRef | null]) => [
    kind,
    ref && { ...ref, file: join(folder, ref.file) },
  ]);
  return Object.fromEntries(entries) as ModuleSet;
}

function tell(message: NodeReady): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
