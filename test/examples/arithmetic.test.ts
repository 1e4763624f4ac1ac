import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { accept, type Message, reject, type Seed } from "../../bridge/hooks/types.js";
import { makeData } from "../../examples/arithmetic/dataset.js";
import environment from "../../examples/arithmetic/environment.js";
import reward from "../../examples/arithmetic/reward.js";
import { heldOutSums, isHeldOut, sumPrompt, trainSums } from "../../examples/arithmetic/sums.js";
import { readDataFile } from "../../sdk/data/read.js";
import { tempFolder } from "../sdk/temp.js";

const scoreOf = (response: string): unknown =>
  reward.score({ response, groundTruth: "7", taskId: "t", signal: new AbortController().signal });

describe("the reward", () => {
  test("looks at the last number alone", () => {
    expect(scoreOf("3 + 4 = 7")).toBe(1);
    expect(scoreOf("7 is 3 + 4")).toBe(0);
    expect(scoreOf("The answer is 7.")).toBe(1);
    expect(scoreOf("seventeen")).toBe(0);
    expect(scoreOf("")).toBe(0);
  });

  test("takes only whole numbers as ground truth", () => {
    expect(reward.groundTruth.safeParse("12").success).toBe(true);
    expect(reward.groundTruth.safeParse("twelve").success).toBe(false);
  });
});

describe("the environment", () => {
  const [first, second] = trainSums;
  if (!first || !second) throw new Error("there are sums to train on");
  const seed = (successRate: number | null): Seed<{ prompt: string; groundTruth: string }> => ({
    id: "s",
    task: { prompt: sumPrompt(first), groundTruth: "0" },
    successRate,
  });
  const parse = (answer: string): unknown => environment.parse({ answer, seeds: [seed(null)] });

  async function promptFor(...rates: (number | null)[]): Promise<string> {
    const messages: Message[] = await environment.prompt({
      seeds: rates.map(seed),
      epoch: 1,
      targetSuccess: 0.5,
      random: () => 0,
    });
    return messages.map((message) => message.content).join("\n");
  }

  test("asks for harder or easier sums as the agent does well or badly", async () => {
    expect(await promptFor(1, 0.9)).toContain("harder");
    expect(await promptFor(0)).toContain("easier");
    for (const rates of [[0.5, null], [0.55], [null], []]) {
      expect(await promptFor(...rates)).toMatch(/Next problem:$/);
    }
    expect(await promptFor(1)).toBe(
      `Next problem:\n${first.a} + ${first.b}\nNext problem, a little harder, with bigger numbers:`,
    );
  });

  test("finds a sum in an answer and works out the right result", () => {
    const { a, b } = second;
    const task = { prompt: sumPrompt(second), groundTruth: String(a + b) };
    expect(parse(`Sure! ${a} + ${b} = 999`)).toEqual([accept(task)]);
    expect(parse("12+30")).toEqual([accept({ prompt: "What is 12 + 30?", groundTruth: "42" })]);
  });

  test("rejects what is no new sum, with the reason", () => {
    const [held] = heldOutSums;
    expect(parse("hello")).toEqual([reject("no-sum")]);
    expect(parse("")).toEqual([reject("no-sum")]);
    expect(parse(`${first.a} + ${first.b}`)).toEqual([reject("copied-a-seed")]);
    expect(parse(`${held?.a} + ${held?.b}`)).toEqual([reject("held-out")]);
    expect(parse("1000 + 1")).toEqual([reject("too-big")]);
  });
});

describe("the data", () => {
  test("is what the script makes", async () => {
    const folder = tempFolder();
    await makeData(folder);
    for (const [name, rows] of [
      ["train.parquet", 57],
      ["val.parquet", 24],
    ] as const) {
      const made = await readDataFile(join(folder, name));
      const kept = await readDataFile(join("examples/arithmetic/data", name));
      expect(made.rows).toHaveLength(rows);
      expect(made.rows).toEqual(kept.rows);
    }
  });

  test("no sum is in both files", () => {
    expect(trainSums.filter(isHeldOut)).toEqual([]);
    expect(new Set([...trainSums, ...heldOutSums].map(sumPrompt)).size).toBe(81);
  });
});
