import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSession, type Session } from "../sdk/session.js";

interface Timing {
  /** From the call to the first finished sample, which is later than the start of generation. */
  firstSampleSeconds: number;
  seconds: number;
}

interface Result {
  name: "second-evaluation-over-a-new-session";
  model: string;
  openSeconds: number;
  evaluations: Timing[];
  /** First sample of a session that has to be opened, over that of the second evaluation on a warm one. */
  ratio: number;
}

const rewardText = `
import { defineReward } from "genenv";
import { z } from "zod";
export default defineReward({
  name: "length",
  groundTruth: z.string(),
  score: ({ response }) => response.length / 100,
});
`;

const since = (startMs: number): number => (performance.now() - startMs) / 1000;

async function timeEvaluation(session: Session, data: string, reward: string): Promise<Timing> {
  const start = performance.now();
  let firstSampleSeconds: number | null = null;
  await session.evaluate({
    data,
    reward,
    n: 4,
    sampling: { maxTokens: 16 },
    onProgress: ({ samples }) => {
      if (samples > 0) firstSampleSeconds ??= since(start);
    },
  });
  return { firstSampleSeconds: firstSampleSeconds ?? Number.NaN, seconds: since(start) };
}

/** `npm run bench:session [-- --model MODEL] [-- --json]`: how soon a warm engine works again. */
export async function main(args: readonly string[], root: string): Promise<number> {
  const model = args.includes("--model")
    ? (args[args.indexOf("--model") + 1] ?? "")
    : "builtin:tiny";
  const folder = mkdtempSync(join(tmpdir(), "genenv-bench-"));
  try {
    const [data, reward] = [join(folder, "data.jsonl"), join(folder, "reward.ts")];
    const rows = Array.from({ length: 16 }, (_, i) => ({ question: `${i} + 1?`, answer: `${i}` }));
    writeFileSync(data, rows.map((row) => JSON.stringify(row)).join("\n"));
    writeFileSync(reward, rewardText);
    const start = performance.now();
    const session = await openSession({ model }, { cwd: root });
    const openSeconds = since(start);
    try {
      const evaluations: Timing[] = [];
      for (let i = 0; i < 3; i++) evaluations.push(await timeEvaluation(session, data, reward));
      const [first, second] = evaluations as [Timing, Timing];
      const ratio = (openSeconds + first.firstSampleSeconds) / second.firstSampleSeconds;
      const name = "second-evaluation-over-a-new-session";
      print({ name, model, ratio, openSeconds, evaluations }, args.includes("--json"));
    } finally {
      await session.close();
    }
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function print(result: Result, json: boolean): void {
  if (json) {
    console.log(JSON.stringify(result));
    return;
  }
  const { model, openSeconds, evaluations, ratio } = result;
  console.log(`${model}: the session opened in ${openSeconds.toFixed(1)} s`);
  evaluations.forEach(({ firstSampleSeconds, seconds }, index) => {
    console.log(
      `evaluation ${index + 1}: first sample after ${firstSampleSeconds.toFixed(2)} s, all 16 x 4 scored after ${seconds.toFixed(2)} s`,
    );
  });
  console.log(`a new session's first sample comes ${ratio.toFixed(0)} times later`);
}
