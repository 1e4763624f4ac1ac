/**
 * `npm run bench:scale [-- --json] [-- --quick] [-- --only PART]`: how the parts of the loop that grow with a run do so.
 * Each size is measured in a process of its own, for its peak of memory. A line's ratio is the cost of one item at the
 * smallest size over that at the largest: from 1 upwards it grows linearly or better.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { resolveModel } from "../bridge/python/models.js";
import { findReady } from "../bridge/python/setup.js";
import { startReward } from "./hooks-host.js";

interface Part {
  name: string;
  /** What is counted by the sizes. */
  unit: string;
  sizes: number[];
  needsHooks?: true;
  needsModel?: true;
}

/** What a size took: seconds (of processor time, or on the clock where a hook host works too), and the peak in MB. */
interface Measured {
  size: number;
  seconds: Record<string, number>;
  peakMb: number;
  [figure: string]: unknown;
}

const parts: Part[] = [
  { name: "pool", unit: "tasks", sizes: [10_000, 100_000, 1_000_000] },
  { name: "ledger", unit: "rows", sizes: [100_000, 1_000_000, 10_000_000] },
  { name: "data", unit: "tasks", sizes: [10_000, 100_000, 1_000_000] },
  { name: "workers", unit: "reward workers", sizes: [1, 4, 16, 64], needsHooks: true },
  { name: "rollouts", unit: "responses", sizes: [1_000, 8_000, 64_000], needsHooks: true },
  { name: "tokens", unit: "tokens a response", sizes: [64, 512, 4_096], needsHooks: true },
  { name: "driver", unit: "responses", sizes: [500, 2_000, 8_000], needsModel: true },
];

export async function main(args: readonly string[], root: string): Promise<number> {
  const python = process.env.GENENV_TEST_PYTHON ?? findReady()?.python;
  if (python === undefined) {
    process.stderr.write("no Python environment yet; run: npx genenv setup\n");
    return 1;
  }
  const only = args.includes("--only") ? args[args.indexOf("--only") + 1] : undefined;
  const divisor = args.includes("--quick") ? 10 : 1;
  const dir = mkdtempSync(join(tmpdir(), "genenv-bench-"));
  try {
    for (const part of parts.filter(({ name }) => only === undefined || name === only)) {
      const sizes = part.name === "workers" ? part.sizes : part.sizes.map((n) => n / divisor);
      const found: Measured[] = [];
      for (const size of sizes) found.push(await measure(part, size, { python, root, dir }));
      for (const line of linesOf(part, found)) {
        console.log(args.includes("--json") ? JSON.stringify(line) : toText(line));
      }
    }
    return 0;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

interface Place {
  python: string;
  root: string;
  dir: string;
}

async function measure(part: Part, size: number, { python, root, dir }: Place): Promise<Measured> {
  const reward = join(root, "bench", "boxed-answer.ts");
  const own = join(dir, `${part.name}-${size}`);
  const host = part.needsHooks ? await startReward(root, own, reward) : null;
  try {
    const options = {
      part: part.name,
      size,
      address: host?.address,
      hostPid: host?.pid,
      tokenizer: part.needsModel && (await resolveModel("builtin:smollm2-135m", { python })),
    };
    const text = await output(
      python,
      [join(root, "bench", "scale_parts.py"), JSON.stringify(options)],
      {
        PYTHONPATH: join(root, "py"),
      },
    );
    return { size, ...(JSON.parse(text) as Omit<Measured, "size">) } as Measured;
  } finally {
    await host?.close();
  }
}

function output(command: string, args: string[], env: Record<string, string>): Promise<string> {
  const child = spawn(command, args, {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.on("data", (chunk) => {
    text += chunk;
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve(text);
      else reject(new Error(`${args.at(-1)} ended with ${code}`));
    });
  });
}

interface Line {
  name: string;
  ratio: number;
  unit: string;
  /** Of the seconds, and of the peak of memory, as a power of the size. */
  exponent: number;
  memoryExponent: number;
  sizes: number[];
  seconds: number[];
  peakMb: number[];
  [figure: string]: unknown;
}

function linesOf({ name, unit }: Part, found: readonly Measured[]): Line[] {
  const sizes = found.map(({ size }) => size);
  const peakMb = found.map((each) => each.peakMb);
  const others = Object.keys(found[0] ?? {}).filter(
    (key) => !["size", "seconds", "peakMb"].includes(key),
  );
  return Object.keys(found[0]?.seconds ?? {}).map((work) => {
    const seconds = found.map((each) => each.seconds[work] ?? Number.NaN);
    const each = seconds.map((value, index) => value / (sizes[index] ?? 1));
    return {
      name: `${name}-${work}`,
      ratio: round((each[0] ?? 0) / (each.at(-1) ?? 1)),
      unit,
      exponent: round(exponentOf(sizes, seconds)),
      memoryExponent: round(exponentOf(sizes, peakMb)),
      sizes,
      seconds: seconds.map((value) => Number(value.toPrecision(3))),
      peakMb: peakMb.map(Math.round),
      ...Object.fromEntries(others.map((key) => [key, found.map((one) => one[key])])),
    };
  });
}

/** The slope of a line through the logarithms, by least squares. */
function exponentOf(sizes: readonly number[], values: readonly number[]): number {
  const [x, y] = [sizes.map(Math.log), values.map(Math.log)];
  const mean = (all: readonly number[]): number => all.reduce((a, b) => a + b, 0) / all.length;
  const [mx, my] = [mean(x), mean(y)];
  const top = x.reduce((sum, value, i) => sum + (value - mx) * ((y[i] ?? 0) - my), 0);
  return top / x.reduce((sum, value) => sum + (value - mx) ** 2, 0);
}

const round = (value: number): number => Math.round(value * 1000) / 1000;

function toText({ name, exponent, unit, sizes, seconds, peakMb }: Line): string {
  const at = sizes.map(
    (size, i) => `${size.toLocaleString("en")}: ${seconds[i]} s, ${peakMb[i]} MB`,
  );
  return `${name.padEnd(18)} ~ (${unit})^${exponent.toFixed(2)}   ${at.join("; ")}`;
}
