import { describe, expect, test } from "vitest";
import { majorityLabel } from "../../../sdk/curriculum/algorithms.js";

describe("a vote of the agent's answers", () => {
  test("takes the most frequent answer, with the share that gave it", () => {
    expect(majorityLabel(["7", "8", "7", "7"], 0.5)).toEqual({ label: "7", agreement: 0.75 });
  });

  test("takes the first of equally frequent answers", () => {
    expect(majorityLabel(["8", "7", "7", "8"], 0.5)).toEqual({ label: "8", agreement: 0.5 });
  });

  test("has a label exactly at the threshold and none below it", () => {
    const answers = ["1", "1", "1", "2", "3"];
    expect(majorityLabel(answers, 0.6)).toEqual({ label: "1", agreement: 0.6 });
    expect(majorityLabel(answers, 0.61)).toEqual({ label: null, agreement: 0.6 });
  });

  test("counts a response without an answer as one that disagrees", () => {
    expect(majorityLabel(["7", null, null, "7"], 0.75)).toEqual({ label: null, agreement: 0.5 });
  });

  test("has no label where no response has an answer, or there is none", () => {
    expect(majorityLabel([null, null], 0)).toEqual({ label: null, agreement: 0 });
    expect(majorityLabel([], 0)).toEqual({ label: null, agreement: 0 });
  });
});
