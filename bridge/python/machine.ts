import { readFileSync } from "node:fs";
import { createConnection } from "node:net";
import { availableParallelism, totalmem } from "node:os";
import { type Finding, fine, poor } from "./finding.js";

const wantedFlags = ["avx2", "avx512f", "avx512_bf16", "amx_bf16"];

/** `cpuinfo` is the text of /proc/cpuinfo. */
export function examineCpu(
  cpuinfo = read("/proc/cpuinfo"),
  cores = availableParallelism(),
): Finding {
  const why = "vLLM's CPU build needs AVX2; avx512_bf16 or amx_bf16 make bf16 quick";
  const flags = new Set(/^flags\s*:\s*(.*)$/m.exec(cpuinfo)?.[1]?.split(" "));
  const has = wantedFlags.filter((flag) => flags.has(flag));
  const value = `${cores} cores, ${has.join(" ") || "no AVX2"}`;
  if (!flags.has("avx2") && !flags.has("avx512f")) {
    return poor("CPU", "fail", value, why, "use a machine whose processor has AVX2");
  }
  if (cores >= 2) return fine("CPU", value, why);
  return poor("CPU", "warning", value, why, "a run wants two cores or more");
}

/**
 * `total` in bytes; `limits` are the texts of the cgroup files that bound it ("max": unbounded).
 * The default run fits in 16 GB with the fast start and in 20 GB without.
 */
export function examineMemory(
  total = totalmem(),
  limits = [read("/sys/fs/cgroup/memory.max"), read("/sys/fs/cgroup/memory/memory.limit_in_bytes")],
): Finding {
  const why = "the default run takes up to 16 GB, without the fast start 20 GB";
  const bounds = limits.map((text) => Number.parseInt(text, 10)).filter((bytes) => bytes > 0);
  const bytes = Math.min(total, ...bounds);
  const value = `${(bytes / 1e9).toFixed(1)} GB${bytes < total ? " (the container's limit)" : ""}`;
  if (bytes >= 15.5e9) return fine("Memory", value, why);
  return poor("Memory", "warning", value, why, "use builtin:tiny, or a machine with more memory");
}

/** A Ray cluster that is running already is left alone: this only says that there is one. */
export async function examineRayPorts(ports: readonly number[] = [6379, 8265]): Promise<Finding> {
  const why = "each run starts a Ray cluster of its own, on ports that are free";
  const open = (
    await Promise.all(ports.map(async (port) => ((await isOpen(port)) ? [port] : [])))
  ).flat();
  const value = open.length > 0 ? `in use by others: ${open.join(", ")} (left alone)` : "free";
  return fine("Ray ports", value, why);
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: "127.0.0.1", port, timeout: 500 });
    const done = (open: boolean): void => {
      socket.destroy();
      resolve(open);
    };
    socket.once("connect", () => done(true));
    socket.once("timeout", () => done(false));
    socket.once("error", () => done(false));
  });
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    // Another kind of system: what the file would say is not known.
    return "";
  }
}
