import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeDataset } from "../sdk/data/write.js";

const charactersPerRow = 400;

/**
 * `npm run bench:data [-- --json]`: rows written as veRL's Parquet, ten times as many in a process of their own each
 * time. The ratio is rows a second of the largest over the smallest, and what the memory grows by beside it.
 */
export async function main(args: readonly string[], root: string): Promise<number> {
  const only = args.indexOf("--rows");
  if (only >= 0) {
    await writeOnce(Number(args[only + 1]));
    return 0;
  }
  const json = args.includes("--json");
  const found: Written[] = [];
  for (const rows of [10_000, 100_000, 1_000_000]) found.push(await inChild(rows, root));
  const [small, , large] = found as [Written, Written, Written];
  const result = {
    name: "data-write-1M-over-10k-rows-per-second",
    ratio: large.rowsPerSecond / small.rowsPerSecond,
    memoryRatio: large.peakMb / small.peakMb,
    charactersPerRow,
    sizes: found,
  };
  if (json) console.log(JSON.stringify(result));
  else for (const line of found) console.log(toText(line));
  return 0;
}

interface Written {
  rows: number;
  seconds: number;
  rowsPerSecond: number;
  /** Largest resident memory of the process, in MB. */
  peakMb: number;
  fileMb: number;
}

function inChild(rows: number, root: string): Promise<Written> {
  const child = spawn(
    process.execPath,
    [join(root, "bench", "run.mjs"), "data", "--rows", String(rows)],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  let text = "";
  child.stdout.on("data", (part) => (text += part));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve(JSON.parse(text) as Written);
      else reject(new Error(`writing ${rows} rows ended with ${code}`));
    });
  });
}

async function writeOnce(rows: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "genenv-bench-"));
  try {
    const file = join(folder, "rows.parquet");
    const start = performance.now();
    await writeDataset(makeRows(rows), file);
    const seconds = (performance.now() - start) / 1000;
    const fileMb = statSync(file).size / 1e6;
    const written: Written = {
      rows,
      seconds,
      rowsPerSecond: rows / seconds,
      peakMb: peakMb(),
      fileMb,
    };
    console.log(JSON.stringify(written));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function* makeRows(count: number): AsyncGenerator<{ prompt: string; groundTruth: string }> {
  for (let row = 0; row < count; row++) {
    const text = `Row ${row}: what is ${row} + ${row + 1}? `;
    yield {
      prompt: text.padEnd(charactersPerRow, "lorem ipsum "),
      groundTruth: String(2 * row + 1),
    };
  }
}

function peakMb(): number {
  const kib = /VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
  return (Number(kib) * 1024) / 1e6;
}

const toText = ({ rows, seconds, rowsPerSecond, peakMb: peak, fileMb }: Written): string =>
  `${rows.toLocaleString("en")} rows in ${seconds.toFixed(1)} s: ${Math.round(rowsPerSecond).toLocaleString("en")} a second, ${Math.round(peak)} MB of memory, ${fileMb.toFixed(1)} MB on disk`;
