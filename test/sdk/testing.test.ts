import { expect, test } from "vitest";
import { z } from "zod";
import { abstain } from "../../bridge/hooks/types.js";
import { defineReward } from "../../sdk/define.js";
import { testReward } from "../../sdk/testing.js";

const reward = defineReward({
  name: "halves",
  groundTruth: z.number(),
  uses: ["extra"],
  score: ({ response, groundTruth, extra }) => {
    if (response === "skip") return abstain("asked to");
    if (response === "throw") throw new Error("no");
    return response.length / groundTruth + Number(extra.bonus ?? 0);
  },
});

test("gives a result for each case", async () => {
  const results = await testReward(reward, [
    { response: "ab", groundTruth: 4, expected: 0.5 },
    { response: "ab", groundTruth: 4, extra: { bonus: 1 }, expected: 1.5 },
    { response: "skip", groundTruth: 1, expected: "abstain" },
    { response: "throw", groundTruth: 1, taskId: "t-9", expected: "failed" },
    { response: "only run", groundTruth: 1 },
  ]);
  expect(results[0]).toEqual({ kind: "score", value: 0.5, success: null, metrics: {} });
  expect(results[3]).toMatchObject({
    code: "threw",
    reason: expect.stringMatching(/^reward "halves" threw for sample 3 of task t-9: Error: no/),
  });
  expect(await testReward(reward, [])).toEqual([]);
});

test("lists the cases that are not as expected", async () => {
  const cases = [
    { response: "ab", groundTruth: 4, expected: 1 },
    { response: "abcd", groundTruth: 4, expected: 1 },
    { response: "skip", groundTruth: 1, expected: 0, name: "skipped" },
  ];
  await expect(testReward(reward, cases)).rejects.toThrow(
    '2 of 3 cases failed:\n  case 0 "ab": expected 1, got 0.5\n  case 2 skipped: expected 0, got abstain (asked to)',
  );
});

test("a ground truth that doesn't fit is a failure with the reason", async () => {
  const cases = [{ response: "ab", groundTruth: "four", taskId: "t-1", expected: 1 as const }];
  await expect(testReward(reward, cases)).rejects.toThrow(
    /the ground truth of task t-1 doesn't fit the schema of reward "halves": .*got the string "four"/,
  );
});
