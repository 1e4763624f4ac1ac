import { describe, expect, it } from "vitest";
import { type MathOptions, math } from "../../../sdk/graders/index.js";
import { mathPairs } from "./math-pairs.js";

function scoreOf(response: string, groundTruth: unknown, options?: MathOptions): number {
  return math({ response, groundTruth }, options).score;
}

describe.each(Object.entries(mathPairs))("math compares %s", (_kind, { same, different }) => {
  it.each(same)("%s is %s", (answer, gold) => {
    expect(scoreOf(`So it is $\\boxed{${answer}}$.`, gold)).toBe(1);
  });

  it.runIf(different.length > 0).each(different)("%s is not %s", (answer, gold) => {
    expect(scoreOf(`So it is $\\boxed{${answer}}$.`, gold)).toBe(0);
    if (answer !== "") expect(scoreOf(`\\boxed{${gold}}`, answer)).toBe(0);
  });
});

describe("math finds the answer", () => {
  it.each([
    ["in the last box", "\\boxed{1} no, \\boxed{2}", "2"],
    ["in a box in a box", "\\boxed{\\boxed{5}}", "5"],
    ["in a box around a box", "\\boxed{x = \\boxed{5}}", "5"],
    ["in a box without braces", "so \\boxed 7 it is", "7"],
    ["after a box that was only mentioned", "Put it in \\boxed{. Here: \\boxed{4}", "4"],
    ["with escaped braces in the box", "\\boxed{\\{1, 2\\}}", "\\{1,2\\}"],
    ["in boxes joined by and", "\\boxed{1} and $\\boxed{2}$", "1, 2"],
    ["after ####", "3 + 4 = 7\n#### 7", "7"],
    ["after #### with a thousands separator", "#### 1,200", "1200"],
    ["after the answer is", "Thus the answer is $\\frac{1}{2}$.", "0.5"],
    ["after Answer:", "**Answer:** 12 cm", "12"],
    ["on the line after Final answer:", "Final Answer:\n42", "42"],
    ["with a decimal point in a sentence", "The answer is 3.5. Thanks!", "3.5"],
    ["alone", "74", "74"],
    ["alone with an end marker", "74<|im_end|>", "74"],
    ["as the only formula of the last line", "We add.\nHence $x = 74$.", "74"],
    ["after thinking that the prompt opened", "\\boxed{1}</think>\\boxed{2}", "2"],
    ["beside thinking with another box", "<think>\\boxed{1}</think>It is \\boxed{2}", "2"],
  ])("%s", (_where, response, gold) => {
    expect(scoreOf(response, gold)).toBe(1);
  });

  it.each([
    ["a box that never closes", "\\boxed{5} wait \\boxed{7", "5"],
    ["several boxes when one answer is wanted", "\\boxed{1} or \\boxed{2}", "2"],
    ["thinking that never ends", "<think>\\boxed{5}", "5"],
    ["prose with a number", "I think that it may well be 74 in the end.", "74"],
    ["an empty response", "", "5"],
  ])("but takes nothing from %s", (_what, response, gold) => {
    expect(scoreOf(response, gold)).toBe(0);
  });

  it("only by the rules that a caller selects", () => {
    const response = "#### 3\nI say \\boxed{4}, or 5";
    expect(scoreOf(response, "4")).toBe(1);
    expect(scoreOf(response, "3", { extract: ["hashes", "boxed"] })).toBe(1);
    expect(scoreOf(response, "5", { extract: ["last-number"] })).toBe(1);
  });
});

describe("math reads the ground truth", () => {
  it.each([
    ["a number", 8],
    ["a big integer", 8n],
    ["a boxed text", "so \\boxed{8}"],
    ["a solution with ####", "4 + 4 = 8\n#### 8"],
    ["an object", { answer: 8 }],
    ["JSON text", '{"answer": "8"}'],
    ["an object in veRL's form", { ground_truth: "8" }],
    ["alternatives", ["seven", "8"]],
    ["dollars", "$8$"],
  ])("as %s", (_form, gold) => {
    expect(scoreOf("\\boxed{8}", gold)).toBe(1);
    expect(scoreOf("\\boxed{9}", gold)).toBe(0);
  });

  it.each([[""], [null], [undefined], [{}], [[]], [{ answer: null }], ["  "]])(
    "and says so where %j holds no answer",
    (gold) => {
      const grade = math({ response: "\\boxed{}", groundTruth: gold });
      expect(grade).toMatchObject({ score: 0, reason: "the ground truth holds no answer" });
    },
  );
});

describe("math reads units", () => {
  it.each([
    ["157.5 m/s", "157.5", 1],
    ["9.8 m/s^2", "9.8\\text{ m/s}^2", 1],
    ["9.8 m/s^2", "9.8\\text{ m/s}", 0],
    ["60 km/h", "60", 1],
    ["3m/s", "3m/s", 1],
    ["\\frac{m}{s}", "m/s", 1],
    ["2 n", "2", 0],
  ])("%s beside %s scores %d", (answer, gold, score) => {
    expect(scoreOf(`\\boxed{${answer}}`, gold)).toBe(score);
  });
});

describe("math follows the conventions it is given", () => {
  it.each<[string, string, MathOptions, number]>([
    ["50\\%", "0.5", { percent: "number" }, 0],
    ["50\\%", "50", { percent: "number" }, 1],
    ["50\\%", "0.5", { percent: "fraction" }, 1],
    ["50\\%", "50", { percent: "fraction" }, 0],
    ["5\\text{ cm}", "5\\text{ m}", { units: "ignore" }, 1],
    ["2, 1", "1, 2", { listOrder: "kept" }, 0],
    ["1, 2", "1, 2", { listOrder: "kept" }, 1],
    ["0.333333", "1/3", { roundedPlaces: null }, 0],
    ["0.33", "1/3", { roundedPlaces: 2 }, 1],
    ["3.14", "\\pi", { roundedPlaces: 2 }, 1],
  ])("%s beside %s under %j scores %d", (answer, gold, options, score) => {
    expect(scoreOf(`\\boxed{${answer}}`, gold, options)).toBe(score);
  });

  it("reads thinking where asked", () => {
    expect(scoreOf("<think>\\boxed{5}</think>", "5", { think: "read" })).toBe(1);
  });
});

describe("math says why", () => {
  it("names what it found, by which rule, and what was wanted", () => {
    expect(math({ response: "\\boxed{4}", groundTruth: "5" })).toEqual({
      score: 0,
      extracted: "4",
      reason: "4 (boxed) is not 5",
    });
  });

  it("names the rules it tried where it found nothing", () => {
    const grade = math({ response: "no idea what it could be here", groundTruth: "5" });
    expect(grade.reason).toMatch(/no answer was found|is not 5/);
  });
});
