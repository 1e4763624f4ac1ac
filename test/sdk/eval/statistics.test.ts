import { describe, expect, test } from "vitest";
import { estimate, pairedTest, passAtK, studentT975 } from "../../../sdk/eval/statistics.js";

describe("pass@k", () => {
  test("is the share of right samples for k = 1", () => {
    expect(passAtK(8, 2, 1)).toBeCloseTo(0.25, 12);
  });

  test("is 1 - C(n-c, k) / C(n, k)", () => {
    // 5 samples, 2 right, k = 2: 1 - C(3,2)/C(5,2) = 1 - 3/10.
    expect(passAtK(5, 2, 2)).toBeCloseTo(0.7, 12);
    // 10 samples, 3 right, k = 4: 1 - C(7,4)/C(10,4) = 1 - 35/210.
    expect(passAtK(10, 3, 4)).toBeCloseTo(1 - 35 / 210, 12);
  });

  test("is 0 where none is right, and 1 where fewer than k are wrong", () => {
    expect(passAtK(4, 0, 4)).toBe(0);
    expect(passAtK(4, 2, 3)).toBe(1);
    expect(passAtK(4, 1, 4)).toBe(1);
  });

  test("is unknown with fewer than k samples", () => {
    expect(passAtK(3, 1, 4)).toBeNull();
    expect(passAtK(0, 0, 1)).toBeNull();
    expect(passAtK(3, 1, 0)).toBeNull();
  });

  test("doesn't overflow where the binomials would", () => {
    expect(passAtK(2000, 1, 1000)).toBeCloseTo(0.5, 9);
  });

  test("is without bias: over all draws of k from n it is the share with a right one", () => {
    const right = [true, false, false, true, false];
    let hits = 0;
    let all = 0;
    for (let a = 0; a < 5; a++)
      for (let b = a + 1; b < 5; b++)
        for (let c = b + 1; c < 5; c++) {
          all++;
          if (right[a] || right[b] || right[c]) hits++;
        }
    expect(passAtK(5, 2, 3)).toBeCloseTo(hits / all, 12);
  });
});

describe("an estimate", () => {
  test("is the mean with Student's interval over problems", () => {
    // Mean 0.5, standard deviation sqrt(1/3), of 4: error sqrt(1/12) = 0.288675; t(3) = 3.1824.
    const found = estimate([0, 1, 0, 1]);
    expect(found?.value).toBe(0.5);
    expect(found?.low).toBeCloseTo(0.5 - 3.1824 * 0.288675, 4);
    expect(found?.high).toBeCloseTo(0.5 + 3.1824 * 0.288675, 4);
    expect(found?.problems).toBe(4);
  });

  test("of one problem has no interval, and of none there is no estimate", () => {
    expect(estimate([0.25])).toEqual({ value: 0.25, low: null, high: null, problems: 1 });
    expect(estimate([])).toBeNull();
  });

  test("of equal values has an interval of no width", () => {
    expect(estimate([1, 1, 1])).toEqual({ value: 1, low: 1, high: 1, problems: 3 });
  });

  test("takes Student's quantile from the tables", () => {
    // Abramowitz and Stegun, table 26.10.
    for (const [degrees, quantile] of [
      [1, 12.706],
      [4, 2.776],
      [10, 2.228],
      [11, 2.201],
      [15, 2.131],
      [30, 2.042],
      [120, 1.98],
    ] as const) {
      expect(studentT975(degrees)).toBeCloseTo(quantile, 3);
    }
    expect(studentT975(1e9)).toBeCloseTo(1.96, 3);
  });
});

describe("the paired test", () => {
  test("counts every pattern of signs where there are few problems", () => {
    // Sums of ±1 ±2 ±3: only +++ and --- are as far from 0 as 6.
    const found = pairedTest([1, 2, 3]);
    expect(found?.method).toBe("exact");
    expect(found?.pValue).toBe(2 / 8);
    expect(found?.difference.value).toBe(2);
  });

  test("counts patterns that are as far by rounding too", () => {
    // ±0.1 ±0.2 ±0.3: all but those whose sum is 0 are at least... of 8 patterns only two reach 0.6.
    expect(pairedTest([0.1, 0.2, 0.3])?.pValue).toBe(0.25);
    expect(pairedTest([0.3, 0.1, 0.2])?.pValue).toBe(0.25);
  });

  test("finds no difference between equals", () => {
    expect(pairedTest([0, 0, 0, 0])?.pValue).toBe(1);
    expect(pairedTest([0.5, -0.5])?.pValue).toBe(1);
  });

  test("draws signs where there are many, with the same outcome for the same seed", () => {
    const differences = Array.from({ length: 40 }, (_, i) => (i % 4 === 0 ? -1 : 1) * 0.1);
    const found = pairedTest(differences, 3);
    expect(found?.method).toBe("sampled");
    expect(found).toEqual(pairedTest(differences, 3));
    // 30 of 40 equal steps up: twice the binomial tail P(X >= 30), p = 0.0022.
    expect(found?.pValue).toBeGreaterThan(0.0008);
    expect(found?.pValue).toBeLessThan(0.004);
  });

  test("can't say p = 0: the observed pattern is one of those counted", () => {
    expect(pairedTest(Array<number>(100).fill(1))?.pValue).toBe(1 / 10_001);
  });

  test("of no problems is no test", () => {
    expect(pairedTest([])).toBeNull();
  });
});
