import { testReward } from "genenv/testing";
import { test } from "vitest";
import reward from "./reward.js";

test("a right answer in a box earns all, without one 0.8", async () => {
  const groundTruth = "\\frac{5}{6}";
  await testReward(reward, [
    { response: "1/2 + 1/3 is \\boxed{\\frac{5}{6}}", groundTruth, expected: 1 },
    { response: "\\boxed{5/6}", groundTruth, expected: 1 },
    { response: "The answer is 5/6.", groundTruth, expected: 0.8 },
  ]);
});

test("a wrong answer earns what its box is worth", async () => {
  await testReward(reward, [
    { response: "\\boxed{4}", groundTruth: "3", expected: 0.2 },
    { response: "It is 4.", groundTruth: "3", expected: 0 },
    { response: "\\boxed{3", groundTruth: "3", expected: 0 },
    { response: "", groundTruth: "3", expected: 0 },
  ]);
});
