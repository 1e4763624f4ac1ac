import { testReward } from "genenv/testing";
import { test } from "vitest";
import reward from "./reward.js";

test("the ground truth itself earns 1, all else 0", async () => {
  await testReward(reward, [
    { response: " tea\n", groundTruth: "tea", expected: 1 },
    { response: "coffee", groundTruth: "tea", expected: 0 },
  ]);
});
