/** A vote for a label through the hook plane: the reward's `extract`, and the loop's formula. */
import { join } from "node:path";
import { tableFromIPC } from "apache-arrow";
import { expect, test } from "vitest";
import { Kind, Op } from "../../bridge/wire.js";
import { connectTo, fixtures, payloadOf, repository, startHost } from "./hook-plane.js";

/** The reply to a vote on each list of responses, with a reward of the fixture. */
async function vote(reward: string, responses: string[][], minAgreement = 0.5): Promise<unknown[]> {
  const host = await startHost(reward, {
    modules: {
      reward: {
        kind: "file",
        path: join(fixtures, "bad-hooks", "extracting.ts"),
        exportName: reward,
      },
      environment: null,
      curriculum: null,
      algorithms: {
        kind: "file",
        path: join(repository, "sdk", "curriculum", "algorithms.ts"),
        exportName: "algorithms",
      },
    },
    limits: { timeoutMs: 500, batchTimeoutMs: 5_000, heapMb: 64, concurrency: 4 },
  });
  const client = await connectTo(host);
  const payload = payloadOf({
    params: responses.map((_, row) => (row === 0 ? JSON.stringify({ minAgreement }) : null)),
    responses: responses.map((row) => JSON.stringify(row)),
  });
  const { header, payload: reply } = await client.send(Op.LABEL, payload);
  if (header.kind === Kind.ERROR) return [reply.toString("utf8")];
  return tableFromIPC(reply)
    .toArray()
    .map((row) => (row.json === null ? `${row.code}: ${row.reason}` : JSON.parse(row.json)));
}

test("each task gets its responses' most frequent answer, or none where too few agree", async () => {
  const votes = await vote("lastNumber", [
    ["so 7", "7", "8"],
    ["1", "2", "no idea", "3"],
  ]);
  expect(votes).toEqual([
    { label: "7", agreement: 2 / 3 },
    { label: null, agreement: 0.25 },
  ]);
});

test.each([
  ["throwing", /^threw: [\s\S]*nothing to see[\s\S]*extracting\.ts:\d+/],
  [
    "number",
    /^bad-result: reward "number" \(extract\) returned 7 for the string "a"; return a text or null$/,
  ],
  ["endless", /^timeout: .*endless/],
])("an extract that is %s fails, and the reason says how", async (reward, reason) => {
  expect((await vote(reward, [["a"]]))[0]).toMatch(reason);
});

test("a reward without an extract has no vote", async () => {
  const [error] = await vote("without", [["a"]]);
  expect(JSON.parse(String(error))).toMatchObject({
    code: "hook-absent",
    message: "this run's reward has no extract",
  });
});
