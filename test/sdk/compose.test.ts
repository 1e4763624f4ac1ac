import { setTimeout as sleep } from "node:timers/promises";
import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { scoreAll } from "../../bridge/hooks/score-all.js";
import { abstain, type RewardHook, score } from "../../bridge/hooks/types.js";
import { allOf, firstOf, weighted, withTimeout } from "../../sdk/compose.js";
import { defineReward } from "../../sdk/define.js";

const correct = defineReward({
  name: "correct",
  groundTruth: z.string(),
  score: ({ response, groundTruth }) => {
    if (response === "") return abstain("empty");
    if (response === "throw") throw new RangeError("no");
    const isRight = response.includes(groundTruth);
    return score(isRight ? 1 : 0, { success: isRight, metrics: { length: response.length } });
  },
});
/** A grader: 1 where the response ends with a full stop. */
const format = ({ response }: { response: string; groundTruth: never }) => ({
  score: response.endsWith(".") ? 1 : 0,
  extracted: null,
  reason: "",
});

async function one(reward: RewardHook, response: string, timeoutMs = 1_000): Promise<unknown> {
  return (await scoreAll(reward, [{ response, groundTruth: "7", taskId: "t" }], { timeoutMs }))[0];
}

test("weighted adds its parts up and reports each by name", async () => {
  const reward = weighted({ correct: 1, format: 0.1 }, { correct, format });
  expect(reward.name).toBe("weighted(correct, format)");
  expect(await one(reward, "7.")).toEqual({
    kind: "score",
    value: 1.1,
    success: true,
    metrics: { correct: 1, "correct/length": 2, format: 1 },
  });
  expect(await one(reward, "8.")).toMatchObject({ value: 0.1, success: false });
});

test("a part that abstains makes the whole abstain, by its name", async () => {
  const reward = weighted({ correct: 1, format: 0.1 }, { correct, format });
  expect(await one(reward, "")).toEqual({ kind: "abstain", reason: "correct: empty" });
});

test("a part that throws fails the sample with the part's own error", async () => {
  expect(await one(allOf({ correct, format }), "throw")).toMatchObject({
    kind: "failed",
    code: "threw",
    reason: expect.stringMatching(/reward "allOf\(correct, format\)" threw .*RangeError: no/),
  });
  const broken = defineReward({ name: "b", groundTruth: z.unknown(), score: () => Number.NaN });
  expect(await one(allOf({ broken }), "7")).toMatchObject({
    reason: expect.stringContaining('part "broken" returned NaN'),
  });
});

test("weights and parts must have the same names", () => {
  // @ts-expect-error a part without its weight
  weighted({ correct: 1 }, { correct, format });
  expect(() => weighted({ correct: 1, typo: 2 } as { correct: number }, { correct })).toThrow(
    'weighted has a weight for "typo", which is no part',
  );
  expect(() => weighted({ correct: Number.NaN }, { correct })).toThrow(
    'the weight of "correct" is NaN',
  );
  expect(() => firstOf({})).toThrow("firstOf needs at least one part");
});

test("allOf is the least of its parts", async () => {
  const reward = allOf({ correct, format });
  expect(await one(reward, "7")).toMatchObject({ value: 0, success: true });
  expect(await one(reward, "7.")).toMatchObject({ value: 1 });
});

test("firstOf asks the next part only where one abstains", async () => {
  const asked: string[] = [];
  const last = defineReward({
    name: "last",
    groundTruth: z.unknown(),
    score: ({ response }) => {
      asked.push(response);
      return response === "" ? abstain("also empty") : 0.5;
    },
  });
  const reward = firstOf({ correct, last });
  expect(await one(reward, "7")).toMatchObject({ value: 1, metrics: { correct: 1 } });
  expect(asked).toEqual([]);
  expect(await one(reward, "")).toEqual({
    kind: "abstain",
    reason: "correct: empty; last: also empty",
  });
});

test("withTimeout abstains in time, aborts the part and leaves quick ones alone", async () => {
  let isAborted = false;
  const judge = defineReward({
    name: "judge",
    groundTruth: z.unknown(),
    concurrency: 4,
    score: async ({ response, signal }) => {
      signal.addEventListener("abort", () => {
        isAborted = true;
      });
      await sleep(response === "slow" ? 2_000 : 1);
      return 0.75;
    },
  });
  const limited = withTimeout(judge, 50);
  expect(limited.concurrency).toBe(4);
  expect(await one(limited, "quick")).toMatchObject({ value: 0.75 });
  expect(await one(limited, "slow")).toEqual({
    kind: "abstain",
    reason: "judge took more than 50 ms",
  });
  expect(isAborted).toBe(true);
  expect(await one(firstOf({ judge: limited, correct }), "slow")).toMatchObject({ value: 0 });
});

test("a composed reward uses what its parts use, and is a reward", () => {
  const seesExtra = defineReward({
    name: "extra",
    groundTruth: z.unknown(),
    uses: ["extra"],
    concurrency: 2,
    score: ({ extra }) => Number(extra.n),
  });
  const reward = allOf({ seesExtra, inner: weighted({ correct: 1 }, { correct }) });
  expect(reward.uses).toEqual(["extra"]);
  expect(reward.concurrency).toBe(2);
  expectTypeOf(reward).toExtend<RewardHook>();
});
