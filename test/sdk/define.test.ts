import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  accept,
  isEnvironmentHook,
  isRewardHook,
  type Message,
  type RewardHook,
  reject,
  score,
} from "../../bridge/hooks/types.js";
import { defineCurriculum, defineEnvironment, defineReward } from "../../sdk/define.js";

const signal = new AbortController().signal;

describe("defineReward", () => {
  test("makes a branded reward that scores", async () => {
    const reward = defineReward({
      name: "length",
      groundTruth: z.number(),
      score: ({ response, groundTruth }) => score(response.length - groundTruth),
    });
    expect(isRewardHook(reward)).toBe(true);
    expect(reward).toMatchObject({ name: "length", uses: [], concurrency: null });
    const result = await reward.score({ response: "abc", groundTruth: 1, taskId: "t", signal });
    expect(result).toEqual(score(2));
  });

  test.each([
    [undefined, "undefined"],
    [{ safeParse: () => ({ success: true }) }, "something else"],
  ])("refuses what is no schema of zod 4: %o", (groundTruth, seen) => {
    const definition = { name: "old", groundTruth: groundTruth as never, score: () => 1 };
    expect(() => defineReward(definition)).toThrow(
      `defineReward "old" needs a schema of zod 4 as its groundTruth, and got ${seen}`,
    );
  });

  test("infers the ground truth from the schema's output, and only the columns in uses", () => {
    const reward = defineReward({
      name: "typed",
      groundTruth: z.object({ n: z.coerce.number() }),
      uses: ["extra", "extra"],
      score(input) {
        expectTypeOf(input.groundTruth).toEqualTypeOf<{ n: number }>();
        expectTypeOf(input.extra).toEqualTypeOf<Record<string, unknown>>();
        // @ts-expect-error messages is not in uses
        input.messages;
        // @ts-expect-error a reward never gets the prompt
        input.prompt;
        return 1;
      },
    });
    expect(reward.uses).toEqual(["extra"]);
    expectTypeOf(reward).toExtend<RewardHook>();
  });

  test("what doesn't fit does not compile", () => {
    // @ts-expect-error a string is no reward
    defineReward({ name: "a", groundTruth: z.string(), score: () => "1" });
    // @ts-expect-error there is no such column
    defineReward({ name: "b", groundTruth: z.string(), uses: ["prompt"], score: () => 1 });
    // @ts-expect-error a ground truth needs a schema
    expect(() => defineReward({ name: "c", score: () => 1 })).toThrow("and got undefined");
    expectTypeOf(score).parameter(0).toEqualTypeOf<number>();
  });

  test("a hook without a name is refused", () => {
    expect(() => defineReward({ name: " ", groundTruth: z.string(), score: () => 1 })).toThrow(
      "needs a name",
    );
  });
});

describe("defineEnvironment", () => {
  const task = z.object({
    prompt: z.string(),
    groundTruth: z.string(),
    level: z.number().default(1),
  });

  test("types seeds by the task's output and accepted tasks by its input", async () => {
    const environment = defineEnvironment({
      name: "sums",
      task,
      prompt({ seeds, random, targetSuccess }) {
        expectTypeOf(seeds[0]?.task.level).toEqualTypeOf<number | undefined>();
        expectTypeOf(random()).toEqualTypeOf<number>();
        return [{ role: "user", content: `${seeds.length} ${targetSuccess}` }];
      },
      parse: ({ answer }) => [
        answer ? accept({ prompt: answer, groundTruth: "1" }) : reject("empty"),
      ],
    });
    expect(isEnvironmentHook(environment)).toBe(true);
    expect(await environment.parse({ answer: "", seeds: [] })).toEqual([reject("empty")]);
    expect("agentPrompt" in environment).toBe(false);
  });

  test("keeps agentPrompt where there is one", async () => {
    const environment = defineEnvironment({
      name: "sums",
      task,
      prompt: (): Message[] => [],
      parse: () => [],
      agentPrompt: ({ prompt, level }) => [{ role: "user", content: prompt.repeat(level) }],
    });
    expect(await environment.agentPrompt?.({ prompt: "x", groundTruth: "1", level: 2 })).toEqual([
      { role: "user", content: "xx" },
    ]);
  });

  test("what doesn't fit does not compile", () => {
    defineEnvironment({
      name: "a",
      // @ts-expect-error a task needs a ground truth
      task: z.object({ prompt: z.string() }),
      prompt: () => [],
      parse: () => [],
    });
    defineEnvironment({
      name: "b",
      task,
      prompt: () => [],
      // @ts-expect-error an accepted task has to fit the schema
      parse: () => [accept({ prompt: 1, groundTruth: "1" })],
    });
    defineEnvironment({
      name: "c",
      task,
      // @ts-expect-error a role is one of four
      prompt: () => [{ role: "bot", content: "" }],
      parse: () => [],
    });
    expect(true).toBe(true);
  });
});

describe("defineCurriculum", () => {
  test("types what it selects from and what it decides", async () => {
    const curriculum = defineCurriculum({
      name: "all",
      select: ({ tasks, filteringK }) => {
        expectTypeOf(tasks[0]?.successRate).toEqualTypeOf<number | null | undefined>();
        expectTypeOf(filteringK).toEqualTypeOf<number>();
        return tasks.map(({ id }) => ({ id, keep: true, weight: 1, reason: "all" }));
      },
    });
    const none = { tasks: [], targetSuccess: 0.5, filteringK: 0, epoch: 0 };
    expect(await curriculum.select({ ...none, filteringMode: "band" })).toEqual([]);
  });

  test("a decision without a weight does not compile", () => {
    // @ts-expect-error weight is missing
    defineCurriculum({ name: "a", select: () => [{ id: "t", keep: true, reason: "" }] });
    expect(true).toBe(true);
  });
});
