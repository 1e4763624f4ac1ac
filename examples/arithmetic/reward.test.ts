import { testReward } from "genenv/testing";
import { test } from "vitest";
import reward from "./reward.js";

test("the last number decides", async () => {
  await testReward(reward, [
    { response: "3 + 4 = 7", groundTruth: "7", expected: 1 },
    { response: "7 is 3 + 4", groundTruth: "7", expected: 0 },
    { response: "", groundTruth: "7", expected: 0 },
    { response: "7", groundTruth: "seven", expected: "failed" },
  ]);
});
