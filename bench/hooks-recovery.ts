/** How soon the hook plane serves the next batch after the worst that a hook can do. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { HookClient } from "../bridge/hooks/client.js";
import type { HookHost } from "../bridge/hooks/host.js";
import type { Limits } from "../bridge/hooks/messages.js";
import type { RewardResult } from "../bridge/hooks/types.js";
import { type PartOptions, startReward } from "./hooks-host.js";

const TIMEOUT_MS = 500;
const BOUND_MS = 100;
const HOST_BOUND_MS = 1_000;
const limits = { timeoutMs: TIMEOUT_MS, batchTimeoutMs: 60_000, heapMb: 64 };

type Guilty = { name: string; response: string; code: string };
const isLate = "timeout";
/** Rewards of test/fixtures/bad-hooks, what their responses do, and the code of the failure. */
const cases: { reward: string; limits: Partial<Limits>; guilty: Guilty[] }[] = [
  {
    reward: "hostile",
    limits,
    guilty: [
      { name: "an endless loop", response: "loop", code: isLate },
      { name: "a catastrophic regex", response: "regex", code: isLate },
      { name: "a blocking child process", response: "child", code: isLate },
      { name: "process.exit()", response: "exit", code: "crashed" },
      { name: "an unhandled rejection", response: "rejection", code: "crashed" },
    ],
  },
  {
    reward: "slow",
    limits,
    guilty: [{ name: "a promise that never settles", response: "never", code: isLate }],
  },
  {
    reward: "hostile",
    // Filling the heap takes longer than the deadline of the others.
    limits: { ...limits, timeoutMs: 30_000 },
    guilty: [{ name: "a heap bomb", response: "bomb", code: "out-of-memory" }],
  },
];

/**
 * Milliseconds until the next batch is answered: after the guilty sample's deadline, or after its own batch's answer where
 * it ends before that. The ratio is the bound over the worst of several.
 */
export async function measureRecovery(options: PartOptions): Promise<void> {
  const { root, dir, print, isQuick } = options;
  const folder = join(root, "test", "fixtures", "bad-hooks");
  const times = isQuick ? 2 : 7;
  for (const { reward, limits: own, guilty } of cases) {
    const host = await startReward(root, dir, join(folder, `${reward}.ts`), "default", own);
    const client = new HookClient({ address: host.address, uses: [] });
    try {
      await score(client, ["1", "2"]);
      for (const each of guilty) {
        const late: number[] = [];
        for (let i = 0; i < times; i++) late.push(await afterGuilty(client, each));
        print({ name: `next batch after ${each.name}`, ...figures(late, BOUND_MS) });
      }
      if (reward !== "slow") continue;
      const late: number[] = [];
      for (let i = 0; i < times; i++) late.push(await afterHostDeath(host, client));
      print({ name: "next batch after the host's death", ...figures(late, HOST_BOUND_MS) });
    } finally {
      client.close();
      await host.close();
    }
  }
}

async function afterGuilty(client: HookClient, { response, code }: Guilty): Promise<number> {
  await sleep(700);
  const startedMs = performance.now();
  // The slow reward takes so many milliseconds; both give the response's length.
  const results = await score(client, ["1", "2", response, "3", "4"]);
  const answeredMs = performance.now();
  await score(client, ["5", "6"]);
  const servedMs = performance.now();
  const guilty = results[2];
  if (guilty?.kind !== "failed" || guilty.code !== code) {
    throw new Error(`${response} is ${JSON.stringify(guilty)}, not failed with ${code}`);
  }
  const values = results.flatMap((result) => (result.kind === "score" ? [result.value] : []));
  if (values.join() !== "1,1,1,1") throw new Error(`the others got ${values.join()}`);
  return servedMs - (code === isLate ? startedMs + TIMEOUT_MS : answeredMs);
}

async function afterHostDeath(host: HookHost, client: HookClient): Promise<number> {
  await sleep(2_500);
  process.kill(host.pid, "SIGKILL");
  const startedMs = performance.now();
  await score(client, ["1", "2"]);
  return performance.now() - startedMs;
}

function score(client: HookClient, responses: string[]): Promise<RewardResult[]> {
  return client.score(responses.map((response) => ({ response, groundTruth: null })));
}

function figures(
  lateMs: number[],
  boundMs: number,
): { ratio: number; atLeast: number } & Record<string, number> {
  const sorted = [...lateMs].sort((a, b) => a - b);
  const worstMs = sorted.at(-1) as number;
  const medianMs = sorted[sorted.length >> 1] as number;
  return {
    ratio: boundMs / worstMs,
    atLeast: 1,
    boundMs,
    worstMs: Math.round(worstMs),
    medianMs: Math.round(medianMs),
    times: sorted.length,
  };
}
