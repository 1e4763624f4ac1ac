import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { PythonError } from "../errors.js";
import { type CommandResult, runCommand } from "./command.js";
import type { Interpreter } from "./interpreter.js";
import type { Env } from "./paths.js";
import { isDiskFull, isNetworkFailure, lastLines, networkError } from "./setup-errors.js";

/** The uv that genenv brings where the machine has none, or one without what it needs. */
const broughtVersion = "0.13.9";
// --torch-backend with pip install.
const oldestVersion = [0, 6, 9];

/**
 * The path of a uv: the one on PATH if it is new enough, else one of genenv's own in `cacheDir`, installed there by pip.
 * Throws PythonError "uv-missing", "setup-network" or "setup-disk".
 */
export async function findUv(
  python: Interpreter,
  cacheDir: string,
  env: Env,
  onProgress: (line: string) => void,
): Promise<string> {
  if (await isUsable("uv", env)) return "uv";
  const dir = join(cacheDir, `uv-${broughtVersion}`);
  const own = join(dir, "bin", "uv");
  if (existsSync(own) && (await isUsable(own, env))) return own;
  onProgress(`bringing uv ${broughtVersion} with pip (the machine has none that is new enough)`);
  await install(python, dir, env);
  return own;
}

async function isUsable(uv: string, env: Env): Promise<boolean> {
  const { code, stdout } = await runCommand(uv, ["--version"], { env, timeoutMs: 20_000 });
  const version = /^uv (\d+)\.(\d+)\.(\d+)/.exec(stdout)?.slice(1).map(Number);
  if (code !== 0 || !version) return false;
  for (const [i, oldest] of oldestVersion.entries()) {
    if (version[i] !== oldest) return (version[i] ?? 0) > oldest;
  }
  return true;
}

async function install(python: Interpreter, dir: string, env: Env): Promise<void> {
  const fresh = `${dir}.${process.pid}-${randomBytes(3).toString("hex")}`;
  await mkdir(dirname(dir), { recursive: true });
  try {
    const args = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", fresh];
    const done = await runCommand(python.path, [...args, `uv==${broughtVersion}`], { env });
    if (done.code !== 0) throw pipError(python, done);
    await rm(dir, { recursive: true, force: true });
    await rename(fresh, dir);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

function pipError(python: Interpreter, { stdout, stderr }: CommandResult): PythonError {
  if (isDiskFull(stderr)) {
    return new PythonError("the disk is full: uv could not be installed", {
      code: "setup-disk",
      hint: "free about 6 GB, or put the environment elsewhere with GENENV_PYTHON_ENV",
    });
  }
  if (isNetworkFailure(stderr)) return networkError("uv", stderr);
  const noPip = stderr.includes("No module named pip");
  const why = noPip ? "this Python has no pip" : lastLines(`${stdout}\n${stderr}`, 3);
  return new PythonError(`there is no uv, and ${python.path} could not install it: ${why}`, {
    code: "uv-missing",
    hint: "install uv (https://docs.astral.sh/uv) or pip (Debian, Ubuntu: apt install python3-pip), then run genenv setup",
  });
}
