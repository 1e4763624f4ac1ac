import { describe, expect, test } from "vitest";
import { bandFilter, quantileFilter } from "../../../sdk/curriculum/algorithms.js";

const kept = (verdicts: string[]): number[] =>
  verdicts.flatMap((verdict, index) => (verdict === "kept" ? [index] : []));

describe("band", () => {
  test("keeps a task exactly on the filter edge", () => {
    // In floating point 0.8 - 0.5 > 0.3, and 0.5 - 0.4 < 0.1 by a hair.
    expect(bandFilter([0.8, 0.2], { alpha: 0.5, k: 0.3 })).toEqual(["kept", "kept"]);
    expect(bandFilter([0.4, 0.6], { alpha: 0.5, k: 0.1 })).toEqual(["kept", "kept"]);
    expect(bandFilter([0.7], { alpha: 0.6, k: 0.1 })).toEqual(["kept"]);
  });

  test("drops what lies outside, and says on which side", () => {
    const verdicts = bandFilter([0.875, 0.125, 0.75], { alpha: 0.5, k: 0.3 });
    expect(verdicts).toEqual(["too-easy", "too-hard", "kept"]);
  });

  test("k = 0 keeps the target alone, k = 1 everything that was scored", () => {
    expect(bandFilter([0.5, 0.375], { alpha: 0.5, k: 0 })).toEqual(["kept", "too-hard"]);
    expect(bandFilter([0, 1, null], { alpha: 0.5, k: 1 })).toEqual(["kept", "kept", "unscored"]);
  });

  test("no tasks, no verdicts", () => {
    expect(bandFilter([], { alpha: 0.5, k: 0.1 })).toEqual([]);
  });
});

describe("quantile", () => {
  test("9 tasks and k = 0.1 drop none", () => {
    const rates = [0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1];
    expect(kept(quantileFilter(rates, { k: 0.1 }))).toHaveLength(9);
  });

  test("10 tasks and k = 0.1 drop the easiest and the hardest", () => {
    const rates = [0.9, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1];
    const verdicts = quantileFilter(rates, { k: 0.1 });
    expect(verdicts[9]).toBe("too-easy");
    expect(verdicts[1]).toBe("too-hard");
    expect(kept(verdicts)).toEqual([0, 2, 3, 4, 5, 6, 7, 8]);
  });

  test("every size up to 40 drops floor(k n) at each end, and judges each task once", () => {
    for (let n = 0; n <= 40; n++) {
      const rates = Array.from({ length: n }, (_, i) => i / 40);
      for (const k of [0, 0.1, 0.25, 0.3, 0.49]) {
        const verdicts = quantileFilter(rates, { k });
        const each = Math.floor((Math.round(k * 100) * n) / 100);
        expect(verdicts).toHaveLength(n);
        expect(kept(verdicts)).toHaveLength(n - 2 * each);
      }
    }
  });

  test("tasks without a success rate are neither ranked nor kept", () => {
    const verdicts = quantileFilter([null, 0.5, null, 0.1, 0.9], { k: 0.34 });
    expect(verdicts).toEqual(["unscored", "kept", "unscored", "too-hard", "too-easy"]);
  });

  test("ties are broken by position", () => {
    expect(quantileFilter([0.5, 0.5, 0.5, 0.5], { k: 0.25 })).toEqual([
      "too-hard",
      "kept",
      "kept",
      "too-easy",
    ]);
  });

  test("k = 1 keeps nothing, and k = 0.5 the middle of an odd number", () => {
    expect(kept(quantileFilter([0.1, 0.5, 0.9], { k: 1 }))).toEqual([]);
    expect(kept(quantileFilter([0.1, 0.5, 0.9], { k: 0.5 }))).toEqual([1]);
    expect(kept(quantileFilter([0.1, 0.9], { k: 0.5 }))).toEqual([]);
  });
});
