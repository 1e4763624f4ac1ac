import { testReward } from "genenv/testing";
import { test } from "vitest";
import reward from "./reward.js";

const groundTruth = '{"name":"set_timer","arguments":{"minutes":5}}';
const call = (text: string): string => `<tool_call>${text}</tool_call>`;

test("the right call earns 1, however its number is written", async () => {
  await testReward(reward, [
    { response: call(groundTruth), groundTruth, expected: 1 },
    {
      response: call('{"name": "set_timer", "arguments": {"minutes": 5.0}}'),
      groundTruth,
      expected: 1,
    },
  ]);
});

test("a call with something wrong earns a part", async () => {
  await testReward(reward, [
    {
      response: call('{"name": "set_timer", "arguments": {"minutes": 6}}'),
      groundTruth,
      expected: 0.5,
    },
    { response: call('{"name": "get_weather", "arguments": {}}'), groundTruth, expected: 0.2 },
    { response: "I set it.", groundTruth, expected: 0 },
    { response: "", groundTruth, expected: 0 },
  ]);
});

test("a ground truth that no tool takes fails with the reason", async () => {
  const wrong = '{"name":"set_timer","arguments":{"minutes":-5}}';
  await testReward(reward, [{ response: call(wrong), groundTruth: wrong, expected: "failed" }]);
});
