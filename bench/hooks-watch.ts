/** How soon `genenv score --watch` has scored again after a save. */
import { spawn } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { PartOptions } from "./hooks-host.js";

const BOUND_MS = 300;
const CASES = 200;
const reward = `import { defineReward } from "genenv";
import { z } from "zod";

export default defineReward({
  name: "watched",
  groundTruth: z.string(),
  score: ({ response, groundTruth }) => Number(response.includes(groundTruth)),
});
`;

/** Milliseconds from a save to the new figures in the terminal, the median of several; the ratio is the bound over it. */
export async function measureWatch({ root, dir, print, isQuick }: PartOptions): Promise<void> {
  const folder = join(dir, "watch");
  mkdirSync(folder);
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const file = join(folder, "reward.ts");
  writeFileSync(file, reward);
  const rows = Array.from({ length: CASES }, (_, row) =>
    JSON.stringify({ response: `it is ${row}`, ground_truth: String(row) }),
  );
  writeFileSync(join(folder, "cases.jsonl"), `${rows.join("\n")}\n`);
  const cli = join(root, "dist", "sdk", "cli", "main.js");
  const words = ["score", "--reward", "./reward.ts", "--in", "cases.jsonl", "--watch"];
  const child = spawn(process.execPath, [cli, ...words], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let heard = (): void => {};
  let lost = (_: Error): void => {};
  child.once("exit", (code) => lost(new Error(`genenv score --watch ended with ${code}`)));
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    if (text.includes("waiting for the next save")) heard();
  });
  const scanned = (): Promise<void> =>
    new Promise((resolve, reject) => {
      heard = resolve;
      lost = reject;
    });
  const tookMs: number[] = [];
  try {
    await scanned();
    for (let i = 0; i < (isQuick ? 3 : 15); i++) {
      // As somebody who edits does: a pause between saves.
      await sleep(1_500);
      const again = scanned();
      const startedMs = performance.now();
      writeFileSync(file, `${reward}// save ${i}\n`);
      await again;
      tookMs.push(performance.now() - startedMs);
    }
  } finally {
    child.kill("SIGINT");
  }
  tookMs.sort((a, b) => a - b);
  const medianMs = tookMs[tookMs.length >> 1] as number;
  print({
    name: `rescan of ${CASES} cases after a save, genenv score --watch`,
    ratio: BOUND_MS / medianMs,
    atLeast: 1,
    boundMs: BOUND_MS,
    medianMs: Math.round(medianMs),
    worstMs: Math.round(tookMs.at(-1) as number),
    times: tookMs.length,
  });
}
