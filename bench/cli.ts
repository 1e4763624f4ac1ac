import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A command line, what it may take, and how often it is timed. */
interface Case {
  name: string;
  args: string[];
  limitMs: number;
  times: number;
  /** Runs in a project that `genenv init` has made of this template; default: an empty folder. */
  template?: string;
}

const cases: Case[] = [
  { name: "genenv --help", args: ["--help"], limitMs: 150, times: 30 },
  { name: "genenv run --help", args: ["run", "--help"], limitMs: 150, times: 30 },
  { name: "genenv check", args: ["check"], limitMs: 5000, times: 5 },
  {
    name: "genenv check, math template",
    args: ["check"],
    limitMs: 5000,
    times: 3,
    template: "math",
  },
];

/**
 * Milliseconds from start to end of a command, the fastest and the median of many, beside those of a Node that does nothing.
 * A ratio is the limit over the median: 1 or more keeps it. `genenv setup` has to be done before.
 */
export async function main(args: string[], root: string): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "genenv-bench-"));
  const genenv = join(root, "dist/sdk/cli/main.js");
  try {
    const bare = timed(["-e", "0"], 30, folder);
    for (const { name, args: words, limitMs, times, template } of cases) {
      const cwd = template === undefined ? folder : join(folder, template);
      if (template !== undefined) oneMs([genenv, "init", cwd, "--template", template], folder);
      const { fastestMs, medianMs } = timed([genenv, ...words], times, cwd);
      const ratio = limitMs / medianMs;
      const result = {
        name,
        ratio,
        medianMs,
        fastestMs,
        limitMs,
        times,
        bareNodeMs: bare.medianMs,
      };
      if (args.includes("--json")) console.log(JSON.stringify(result));
      else {
        const ms = (value: number): string => `${Math.round(value)} ms`;
        console.log(
          `${name}: ${ms(medianMs)} (fastest ${ms(fastestMs)}, limit ${ms(limitMs)}, Node alone ${ms(bare.medianMs)})`,
        );
      }
    }
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function timed(
  args: string[],
  times: number,
  cwd: string,
): { fastestMs: number; medianMs: number } {
  // The first run reads files from the disk, and is not counted.
  const all = Array.from({ length: times + 1 }, () => oneMs(args, cwd)).slice(1);
  const sorted = all.sort((a, b) => a - b);
  return { fastestMs: sorted[0] ?? 0, medianMs: sorted[Math.floor(times / 2)] ?? 0 };
}

function oneMs(args: string[], cwd: string): number {
  const start = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { cwd, encoding: "utf8" });
  const ms = performance.now() - start;
  if (status !== 0) throw new Error(`genenv ${args.slice(1).join(" ")} failed: ${stderr}`);
  return ms;
}
