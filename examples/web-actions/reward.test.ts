import { testReward } from "genenv/testing";
import { test } from "vitest";
import reward from "./reward.js";

test("the wanted action earns 1, another 0.2, none 0", async () => {
  const groundTruth = 'click(bid="12")';
  await testReward(reward, [
    { response: "click(12)", groundTruth, expected: 1 },
    { response: "I open it: click(bid='12')", groundTruth, expected: 1 },
    { response: "click(13)", groundTruth, expected: 0.2 },
    { response: "click(12) click(13)", groundTruth, expected: 0 },
    { response: "The cart.", groundTruth, expected: 0 },
    { response: "", groundTruth, expected: 0 },
  ]);
});

test("a ground truth that is no action fails with the reason", async () => {
  await testReward(reward, [{ response: "x", groundTruth: "open it", expected: "failed" }]);
});
