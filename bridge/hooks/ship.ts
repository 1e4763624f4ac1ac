/** Puts a run's hooks, and the host that serves them, into a folder that runs on any machine with Node.js. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type BuildFailure, build } from "esbuild";
import { HookError } from "../errors.js";
import { compileHook } from "./bundle.js";
import type { HookModules, ModuleRef } from "./host.js";
import type { ImportRef, ModuleSet } from "./messages.js";
import { ownFile } from "./own-file.js";

export interface ShipOptions {
  modules: HookModules;
  projectDir: string;
  /** Made, and filled. */
  dir: string;
}

/** Programs of the host, found by each other by their names. */
const PROGRAMS = ["node-host.js", "host-main.js", "worker.js"];
const MODULES_FILE = "modules.json";
/** CommonJS packages look for a `require` that a bundle of ES modules has not. */
const banner = {
  js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
};
const common = {
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20",
  banner,
  logLevel: "silent",
  sourcemap: "inline",
  sourcesContent: false,
  keepNames: true,
} as const;

/**
 * Fills `dir` with the host's programs and every hook, packages included: node-host.js there needs nothing else. Throws
 * HookError where a hook is a function of this process, or imports what can't be bundled (a native module).
 */
export async function shipHooks({ modules, projectDir, dir }: ShipOptions): Promise<void> {
  await mkdir(dir, { recursive: true });
  await build({ ...common, entryPoints: PROGRAMS.map(ownFile), outdir: dir, splitting: true });
  const shipped: ModuleSet = {
    reward: null,
    environment: null,
    curriculum: null,
    algorithms: null,
  };
  for (const kind of Object.keys(shipped) as (keyof ModuleSet)[]) {
    const ref = modules[kind];
    if (ref !== null) shipped[kind] = await shipModule(kind, ref, projectDir, dir);
  }
  await writeFile(join(dir, MODULES_FILE), JSON.stringify(shipped));
  await writeFile(join(dir, "package.json"), '{ "type": "module" }\n');
}

/** Gives the module with its file's name in `dir`. */
async function shipModule(
  kind: string,
  ref: ModuleRef,
  projectDir: string,
  dir: string,
): Promise<ImportRef> {
  if (ref.kind === "value") {
    throw new HookError(`the ${kind} hook is a function of this process and can't run on a node`, {
      code: "hook-ship",
      hint: "give it as a file, or set genenv.hooks.placement to driver",
    });
  }
  const { file, source, exportName } = await compileHook(ref, projectDir);
  const name = `hook-${kind}.js`;
  try {
    await build({ ...common, entryPoints: [file], outfile: join(dir, name) });
  } catch (error) {
    const text = (error as Partial<BuildFailure>).errors?.[0]?.text ?? (error as Error).message;
    throw new HookError(`${source} can't be sent to the nodes: ${text}`, {
      code: "hook-ship",
      hint: "a native module can't be sent: do without it, or set genenv.hooks.placement to driver",
      place: { file: source },
      cause: error,
    });
  }
  return { file: name, source, exportName };
}
