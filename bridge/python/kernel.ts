import { createHash, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PythonError } from "../errors.js";
import { runCommand } from "./command.js";
import { type Env, packageRoot } from "./paths.js";
import { isDiskFull, isNetworkFailure, lastLines, networkError } from "./setup-errors.js";

export interface KernelOptions {
  /** The notebook environment's folder. */
  dir: string;
  env: Env;
  onProgress: (line: string) => void;
  signal?: AbortSignal;
}

const manifests = ["package.json", "package-lock.json"];

/**
 * Puts tslab, Jupyter's TypeScript kernel, into the notebook environment: the set of py/requirements/tslab, by npm, without
 * running any install script. Throws PythonError "npm-missing", "setup-network", "setup-disk" or "setup-failed".
 */
export async function ensureKernel(options: KernelOptions): Promise<void> {
  const source = join(packageRoot(), "py/requirements/tslab");
  const lock = await readFile(join(source, "package-lock.json"));
  const hash = createHash("sha256").update(lock).digest("hex").slice(0, 12);
  const home = join(options.dir, `tslab-${hash}`);
  if (!existsSync(home)) await install(source, home, options);
  await writeSpec(home, options.dir);
}

async function install(source: string, home: string, options: KernelOptions): Promise<void> {
  options.onProgress("installing the TypeScript kernel (tslab, about 90 MB)");
  const fresh = `${home}.${process.pid}-${randomBytes(3).toString("hex")}`;
  try {
    await mkdir(fresh, { recursive: true });
    for (const name of manifests) await copyFile(join(source, name), join(fresh, name));
    const args = ["ci", "--prefix", fresh, "--ignore-scripts", "--no-audit", "--no-fund"];
    const { env, signal } = options;
    const done = await runCommand("npm", args, { env, signal, cwd: fresh });
    signal?.throwIfAborted();
    if (done.code !== 0) throw npmError(done.code, `${done.stdout}\n${done.stderr}`);
    // What a crash leaves under the other name is ignored; another process may have been first.
    await rename(fresh, home).catch((error: unknown) => {
      if (!existsSync(home)) throw error;
    });
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

/** Written at each start: the Node that runs now may be another than the last one. */
async function writeSpec(home: string, dir: string): Promise<void> {
  const folder = join(dir, "share/jupyter/kernels/tslab");
  const spec = {
    argv: [
      process.execPath,
      join(home, "node_modules/tslab/bin/tslab"),
      "kernel",
      "--config-path",
      "{connection_file}",
    ],
    display_name: "TypeScript",
    language: "typescript",
  };
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "kernel.json"), `${JSON.stringify(spec, null, 2)}\n`);
}

function npmError(code: number, output: string): PythonError {
  if (code === 127) {
    return new PythonError("npm, which brings the notebook's TypeScript kernel, is not on PATH", {
      code: "npm-missing",
      hint: "install npm (it comes with Node), then run genenv notebook again",
    });
  }
  if (isDiskFull(output) || /\bENOSPC\b/.test(output)) {
    return new PythonError("the disk is full: the notebook's TypeScript kernel is not installed", {
      code: "setup-disk",
      hint: "free about 500 MB, then run genenv notebook again",
    });
  }
  if (isNetworkFailure(output) || /\b(ENOTFOUND|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN)\b/.test(output)) {
    return networkError("the notebook's TypeScript kernel", output);
  }
  return new PythonError(
    `npm could not install the notebook's TypeScript kernel: ${lastLines(output, 3)}`,
    {
      code: "setup-failed",
      hint: "the lines above are npm's own; mend what they name, then run genenv notebook again",
    },
  );
}
