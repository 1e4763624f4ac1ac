import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { PythonError } from "../errors.js";

/** Installed files (3.6 GB) and, on the first time, uv's downloads beside them. */
export const neededGigabytes = 6;

export interface Machine {
  platform: string;
  arch: string;
}

/** Throws PythonError "platform" anywhere but on Linux x86_64: vLLM's CPU build exists for it alone. */
export function assertPlatform(machine: Machine = process): void {
  if (machine.platform === "linux" && machine.arch === "x64") return;
  throw new PythonError(
    `genenv trains on Linux x86_64 and this machine is ${machine.platform} ${machine.arch}`,
    {
      code: "platform",
      hint: "run it on a Linux x86_64 machine, in a container or in WSL 2; graders and hooks can be tested anywhere with npm test",
    },
  );
}

/** Throws PythonError "setup-disk" where the file system of `dir` has less than `gigabytes` free for what `name` says. */
export async function assertDiskSpace(
  dir: string,
  gigabytes = neededGigabytes,
  name = "Python environment",
): Promise<void> {
  const { bavail, bsize } = await statfs(nearestExisting(dir));
  const free = (bavail * bsize) / 1e9;
  if (free >= gigabytes) return;
  throw new PythonError(
    `the ${name} needs about ${gigabytes} GB and ${dir} has ${free.toFixed(1)} GB free`,
    {
      code: "setup-disk",
      hint: "free some space, or put the environment on another disk with GENENV_PYTHON_ENV=/path (and uv's downloads with UV_CACHE_DIR=/path)",
    },
  );
}

function nearestExisting(dir: string): string {
  return existsSync(dir) || dirname(dir) === dir ? dir : nearestExisting(dirname(dir));
}
