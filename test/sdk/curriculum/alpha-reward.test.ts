import { expect, test } from "vitest";
import { alphaReward, answerReward } from "../../../sdk/curriculum/algorithms.js";

const options = { alpha: 0.5, beta: 4 };

test("the reward is 1 at the target and exp(-beta d²) away from it", () => {
  expect(alphaReward(0.5, options)).toBe(1);
  // d = 0.5: exp(-4 * 0.25) = 1/e; d = 0.25: exp(-4 * 0.0625) = exp(-0.25).
  expect(alphaReward(1, options)).toBeCloseTo(0.36787944117, 10);
  expect(alphaReward(0, options)).toBeCloseTo(0.36787944117, 10);
  expect(alphaReward(0.25, options)).toBeCloseTo(0.77880078307, 10);
  // Another target: d = 0.1, beta = 10: exp(-0.1).
  expect(alphaReward(0.3, { alpha: 0.2, beta: 10 })).toBeCloseTo(0.90483741803, 10);
});

test("an answer without a valid task gets 0", () => {
  expect(answerReward([], 0.5, 4)).toBe(0);
});

test("an answer whose tasks were never scored has no reward", () => {
  expect(answerReward([null, null], 0.5, 4)).toBeNull();
});

test("an answer with several tasks gets the mean over the scored ones", () => {
  // (1 + exp(-1)) / 2
  expect(answerReward([0.5, null, 1], 0.5, 4)).toBeCloseTo(0.68393972058, 10);
});
