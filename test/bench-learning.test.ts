/** The learning bench's data: what is held out stays out of everything that teaches. */
import { describe, expect, test } from "vitest";
import { validationProblems } from "../bench/learning/data.js";
import environment from "../bench/learning/environment.js";
import { type ArmResult, toMargins, toSvg, toTable } from "../bench/learning/report.js";
import { bandOf, splitOf, toText, workingOf } from "../bench/learning/sums.js";
import { accept, reject } from "../bridge/hooks/types.js";

const seeds: never[] = [];

describe("the problems", () => {
  test("are worked out term by term", () => {
    expect(workingOf([3, 4, 1])).toBe("7 8");
  });

  test("that are held out are 500 or more, and none is for development too", () => {
    const [heldOut, development] = (["held-out", "development"] as const).map((split) =>
      validationProblems(split).map(toText),
    );
    expect(new Set(heldOut).size).toBe(heldOut?.length);
    expect(heldOut?.length).toBeGreaterThanOrEqual(500);
    expect(heldOut?.filter((text) => development?.includes(text))).toEqual([]);
    expect(new Set(heldOut?.map(splitOf))).toEqual(new Set(["held-out"]));
  });

  test("have all three bands among the held-out ones", () => {
    const bands = validationProblems("held-out").map((terms) => bandOf(terms.length));
    expect(new Set(bands)).toEqual(new Set(["easy", "edge", "hard"]));
  });
});

describe("the environment's hook", () => {
  test("turns away what validation keeps, and what is no sum of the world", () => {
    for (const split of ["held-out", "development"] as const) {
      for (const terms of validationProblems(split).slice(0, 20)) {
        expect(environment.parse({ answer: toText(terms), seeds })).toEqual([reject("held-out")]);
      }
    }
    const parse = (answer: string): unknown => environment.parse({ answer, seeds });
    expect(parse("1+2+")).toEqual([reject("no-sum")]);
    expect(parse("1+9")).toEqual([reject("term-out-of-range")]);
    expect(parse("1+1+1+1+1+1+1+1+1")).toEqual([reject("too-long")]);
  });

  test("works out the answer of a sum that it takes", () => {
    expect(splitOf("1+2")).toBe("lessons");
    expect(environment.parse({ answer: "1+2", seeds })).toEqual([
      accept({ prompt: "1+2", groundTruth: "3" }),
    ]);
  });
});

describe("the report", () => {
  const arm = (name: string, success: number): ArmResult => ({
    arm: name,
    seed: 0,
    epochs: 4,
    rollouts: 512,
    seconds: 90,
    trainingSeconds: 60,
    validation: [{ epoch: 4, "val/success_rate": success, "val/parts/hard": success / 2 }],
    environment: [1, 2, 3, 4].map((epoch) => ({ epoch, "env/reward_mean": epoch / 4 })),
    agent: [],
    gap: [{ epoch: 1, tasks: 12, gap: 0.4, successRate: 0.9, terms: 3 }],
  });

  test("shows a row for each arm, and a dash for what was not measured", () => {
    const [, , row] = toTable([arm("rwr", 0.5)]).split("\n");
    expect(row).toBe(
      "| full, rwr | 0 | 50.0 | – | – | 25.0 | 0.40 → 0.40 | 0.25 → 1.00 | – → – | 512 | 60 |",
    );
  });

  test("tells the margin in points, where both arms are there", () => {
    const margins = toMargins([arm("rwr", 0.5), arm("static", 0.25)]);
    expect(margins).toContain("| full, rwr over static data | 25.0 |");
    expect(margins).toContain("| full, grpo over static data | – |");
  });

  test("draws a picture that names its arms", () => {
    const svg = toSvg([arm("rwr", 0.5), arm("static", 0.25)]);
    expect(svg).toMatch(/^<svg [\s\S]*xmlns="http:\/\/www.w3.org\/2000\/svg"[\s\S]*<\/svg>\n$/);
    expect(svg).toContain("full, rwr");
  });
});
