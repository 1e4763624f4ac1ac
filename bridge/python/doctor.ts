import { readdirSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { join } from "node:path";
import { ConfigError, GenEnvError } from "../errors.js";
import { runCommand } from "./command.js";
import { type Finding, fine, poor } from "./finding.js";
import { findPython } from "./interpreter.js";
import { examineCpu, examineMemory, examineRayPorts } from "./machine.js";
import { builtinModels } from "./models.js";
import { cacheDir, type Env } from "./paths.js";
import { assertDiskSpace, assertPlatform, neededGigabytes } from "./preflight.js";
import { findReady } from "./setup.js";

/** What `genenv doctor` shows: each thing a run needs of this machine. Changes nothing; starts only `--version` commands. */
export async function examine(env: Env = process.env): Promise<Finding[]> {
  return Promise.all([
    examineNode(process.versions.node),
    examinePlatform(),
    examinePython(env),
    examineUv(env),
    examineEnvironment(env),
    examineCpu(),
    examineMemory(),
    examineSharedMemory(),
    examineDisk(env),
    examineGpus(env),
    examineRayPorts(),
    examineModels(env),
  ]);
}

/** `version` is Node's, such as "20.19.4". */
export function examineNode(version: string): Finding {
  const why = "genenv and its hooks run in Node 20.19 or later";
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return fine("Node", version, why);
  return poor("Node", "fail", version, why, "install Node 20.19 or later (https://nodejs.org)");
}

async function examinePlatform(): Promise<Finding> {
  const value = `${process.platform} ${process.arch}`;
  const why = "vLLM's CPU build exists for Linux x86_64 alone";
  return asFinding("Platform", why, async () => {
    assertPlatform();
    return value;
  });
}

async function examinePython(env: Env): Promise<Finding> {
  const why = "veRL, vLLM and Ray run in Python 3.11 or 3.12";
  return asFinding("Python", why, async () => {
    const python = await findPython(env);
    return `${python.version} at ${python.path}`;
  });
}

async function examineUv(env: Env): Promise<Finding> {
  const why = "uv installs the Python packages";
  const { code, stdout } = await runCommand("uv", ["--version"], { env, timeoutMs: 20_000 });
  return fine("uv", code === 0 ? stdout : "not on PATH: genenv setup brings its own", why);
}

async function examineEnvironment(env: Env): Promise<Finding> {
  const why = "a run starts at once when its packages are there, at the pinned versions";
  return asFinding("Packages", why, async () => {
    const ready = findReady(env);
    if (ready) return ready.dir;
    throw new ConfigError("not set up, or not complete", {
      code: "not-set-up",
      hint: "run genenv setup (the first run does it too)",
    });
  }).then((finding) => (finding.status === "fail" ? { ...finding, status: "warning" } : finding));
}

async function examineSharedMemory(): Promise<Finding> {
  const why = "weights go from the trainer to vLLM, and Ray keeps its objects, in /dev/shm";
  const { bavail, bsize, blocks } = await statfs("/dev/shm").catch(() => ({
    bavail: 0,
    bsize: 0,
    blocks: 0,
  }));
  const value = `${gigabytes(bavail * bsize)} GB free of ${gigabytes(blocks * bsize)}`;
  if (bavail * bsize >= 2e9) return fine("/dev/shm", value, why);
  return poor(
    "/dev/shm",
    "warning",
    value,
    why,
    "give the container more (docker run --shm-size=8g)",
  );
}

async function examineDisk(env: Env): Promise<Finding> {
  const dir = cacheDir(env);
  const set = findReadyQuietly(env);
  const why = `the Python environment takes about ${neededGigabytes} GB, once`;
  return asFinding("Disk", why, async () => {
    await assertDiskSpace(dir, set ? 1 : neededGigabytes);
    return `enough at ${dir}`;
  });
}

async function examineGpus(env: Env): Promise<Finding> {
  const why =
    "genenv.device auto runs models on a GPU where there is one, with packages of its own (genenv setup --gpu)";
  const args = ["--query-gpu=name", "--format=csv,noheader"];
  const { code, stdout } = await runCommand("nvidia-smi", args, { env, timeoutMs: 20_000 });
  return fine("GPUs", code === 0 && stdout ? stdout.split("\n").join(", ") : "none", why);
}

function examineModels(env: Env): Finding {
  const why = "the built-in models are made once and kept";
  const dir = join(cacheDir(env), "models");
  const there = list(dir).filter((name) => !name.startsWith("."));
  return fine("Models", there.join(", ") || `none yet (of ${builtinModels.join(", ")})`, why);
}

/** What `look` gives, or the error of ours that it throws, as a finding. */
async function asFinding(name: string, why: string, look: () => Promise<string>): Promise<Finding> {
  try {
    return fine(name, await look(), why);
  } catch (error) {
    if (!(error instanceof GenEnvError)) throw error;
    return poor(name, "fail", error.message, why, error.hint ?? "see the message");
  }
}

function findReadyQuietly(env: Env): boolean {
  try {
    return findReady(env) !== null;
  } catch {
    // "Packages" tells what is wrong with it.
    return false;
  }
}

function list(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    // Not made yet.
    return [];
  }
}

function gigabytes(bytes: number): string {
  return (bytes / 1e9).toFixed(1);
}
