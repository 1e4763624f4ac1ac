/** A curriculum through the hook plane: what it may answer, and what is said of every answer that it may not give. */
import { join } from "node:path";
import { tableFromIPC } from "apache-arrow";
import { expect, test } from "vitest";
import { Op } from "../../bridge/wire.js";
import { connectTo, fixtures, payloadOf, startHost } from "./hook-plane.js";

const tasks = ["e1-a0-t0", "e1-a1-t0"].map((id, index) => ({
  id,
  prompt: [{ role: "user", content: `task ${index}` }],
  groundTruth: "1",
  successRate: 0.5,
  reward: 1,
}));
const params = { targetSuccess: 0.5, filteringK: 0.1, filteringMode: "band", epoch: 1 };

/** The decisions of a curriculum of the fixture, or "code: reason". */
async function select(exportName: string, of: object[] = tasks): Promise<unknown> {
  const path = join(fixtures, "bad-hooks", "curricula.ts");
  const host = await startHost("hooks/sum.ts", {
    modules: {
      reward: null,
      environment: null,
      curriculum: { kind: "file", path, exportName },
      algorithms: null,
    },
    limits: { timeoutMs: 500, batchTimeoutMs: 5_000, heapMb: 64, concurrency: 4 },
  });
  const client = await connectTo(host);
  const payload = payloadOf({ params: [JSON.stringify(params)], tasks: [JSON.stringify(of)] });
  const reply = await client.send(Op.SELECT, payload);
  const row = tableFromIPC(reply.payload).get(0)?.toJSON() as Record<string, string | null>;
  return row.json === null ? `${row.code}: ${row.reason}` : JSON.parse(row.json ?? "");
}

test("a decision for each task is taken, in any order, from an async hook too", async () => {
  const decision = { keep: true, weight: 1, reason: "mine" };
  expect(await select("fine")).toEqual([
    { id: "e1-a1-t0", ...decision },
    { id: "e1-a0-t0", ...decision },
  ]);
});

test("a curriculum may keep nothing", async () => {
  const decisions = (await select("none")) as { keep: boolean }[];
  expect(decisions.map(({ keep }) => keep)).toEqual([false, false]);
});

test.each([
  ["stranger", /^bad-result: .*"stranger" decided about the unknown task e9-a9-t9$/],
  ["nan", /^bad-result: .*"nan" returned a bad decision for task e1-a0-t0: weight: .*NaN/],
  ["negative", /^bad-result: .*"negative" returned a bad decision for task e1-a0-t0: weight: /],
  ["twice", /^bad-result: .*"twice" decided twice about task e1-a0-t0$/],
  ["missing", /^bad-result: .*"missing" decided nothing about 1 of 2 tasks \(e1-a0-t0\)$/],
  ["nothing", /^bad-result: .*"nothing" returned undefined; return a decision for each task$/],
  ["throwing", /^threw: [\s\S]*no tasks today[\s\S]*curricula\.ts:\d+/],
  ["rejecting", /^threw: [\s\S]*no tasks later either[\s\S]*curricula\.ts:\d+/],
  ["endless", /^timeout: .*endless/],
])("a curriculum that is %s fails, and the reason says how", async (exportName, reason) => {
  expect(await select(exportName)).toMatch(reason);
});
