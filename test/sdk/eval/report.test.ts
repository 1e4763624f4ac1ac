import { describe, expect, test } from "vitest";
import { formatComparison, formatReport, shownK } from "../../../sdk/cli/eval-text.js";
import { compareReports } from "../../../sdk/eval/compare.js";
import { buildReport } from "../../../sdk/eval/report.js";
import type { EvalReport, EvaluatedProblem, ScoredSample } from "../../../sdk/eval/types.js";
import { toSampling } from "../../../sdk/session/settings.js";

type Word = number | "abstain" | "failed";

const sample = (word: Word): ScoredSample => ({
  text: "x",
  finishReason: word === 1 ? "stop" : "length",
  responseTokens: 4,
  result:
    word === "abstain"
      ? { kind: "abstain", reason: "no label" }
      : word === "failed"
        ? { kind: "failed", code: "threw", reason: "TypeError: \u001b[31mno\nstack" }
        : { kind: "score", value: word, success: null, metrics: {} },
});

const problem = (row: number, dataSource: string | null, words: Word[]): EvaluatedProblem => ({
  row,
  dataSource,
  samples: words.map(sample),
});

function report(problems: EvaluatedProblem[], change: Partial<EvalReport> = {}): EvalReport {
  const about = { model: "m", modelPath: "/m", data: "/d.jsonl", reward: "./r.ts", n: 4 };
  const subject = { ...about, sampling: toSampling(), successThreshold: 1 };
  return { ...buildReport(subject, problems), ...change };
}

describe("a report", () => {
  const made = report([
    problem(1, "sums", [1, 0, 1, 0]),
    problem(2, "sums", [0, 0, 0, 0]),
    problem(3, "stories", [1, "abstain", "failed", 0.5]),
    problem(4, "stories", ["failed", "failed", "abstain", "abstain"]),
  ]);

  test("leaves abstained and failed responses out of the means, and counts them by reason", () => {
    const { overall } = made;
    expect(overall).toMatchObject({ problems: 4, samples: 16, scored: 10, unscoredProblems: 1 });
    expect(overall.abstained).toEqual({ count: 3, reasons: { "no label": 3 } });
    expect(overall.failed).toMatchObject({ count: 3, codes: { threw: 3 } });
    // Problem means 0.5, 0 and (1 + 0.5) / 2.
    expect(overall.mean?.value).toBeCloseTo((0.5 + 0 + 0.75) / 3, 12);
    expect(overall.mean?.problems).toBe(3);
  });

  test("has pass@k over the problems with k scored responses", () => {
    const { passAt } = made.overall;
    expect(passAt.map(({ k }) => k)).toEqual([1, 2, 3, 4]);
    expect(passAt[0]?.estimate?.value).toBeCloseTo((0.5 + 0 + 0.5) / 3, 12);
    // The third problem has two scored responses, one right: 1 - C(1,2)/C(2,2) = 1.
    expect(passAt[1]?.estimate?.value).toBeCloseTo((1 - 1 / 6 + 0 + 1) / 3, 12);
    expect(passAt[3]?.estimate?.problems).toBe(2);
  });

  test("has the same figures for each data source", () => {
    expect(made.bySource.map(({ dataSource, problems }) => [dataSource, problems])).toEqual([
      ["sums", 2],
      ["stories", 2],
    ]);
    expect(made.bySource[0]?.mean?.value).toBe(0.25);
  });

  test("takes a score's own word on success over the threshold", () => {
    const own = problem(1, null, [1]);
    own.samples[0] = {
      ...sample(1),
      result: { kind: "score", value: 1, success: false, metrics: {} },
    };
    expect(report([own]).problems[0]?.successes).toBe(0);
  });

  test("of no problems has no figures, and no division by zero", () => {
    const none = report([]).overall;
    expect(none.mean).toBeNull();
    expect(none.meanResponseTokens).toBeNull();
    expect(JSON.stringify(none)).not.toContain("NaN");
  });

  test("is a table with a line a source, and the first failure without its escapes", () => {
    const text = formatReport(made);
    expect(text).toContain("pass@1");
    expect(text).toMatch(/^all +4 +0\.417 /m);
    expect(text).toMatch(/^sums +2 +0\.250 /m);
    expect(text).toContain("failed: threw 3; the first: TypeError: no\n");
    expect(text).not.toContain("\u001b");
    expect(text).toContain("1 problems have no scored response");
  });

  test("shows powers of two and n of the k", () => {
    expect(shownK(8)).toEqual([1, 2, 4, 8]);
    expect(shownK(6)).toEqual([1, 2, 4, 6]);
    expect(shownK(1)).toEqual([1]);
  });
});

describe("a comparison", () => {
  const first = report([
    problem(1, null, [0, 0, 0, 0]),
    problem(2, null, [1, 0, 0, 0]),
    problem(3, null, ["failed", "failed", "failed", "failed"]),
  ]);
  const second = report(
    [
      problem(2, null, [1, 1, 1, 0]),
      problem(1, null, [1, 1, 0, 0]),
      problem(3, null, [1, 1, 1, 1]),
    ],
    { model: "n" },
  );

  test("pairs problems by row and leaves out those that only one has scored", () => {
    const found = compareReports(first, second);
    expect(found).toMatchObject({ first: "m", second: "n", problems: 2 });
    expect(found.mean?.difference.value).toBe(0.5);
    // Both differences are 0.5: of four patterns of signs two are as far.
    expect(found.mean?.pValue).toBe(0.5);
    expect(formatComparison(found)).toContain("+0.500");
  });

  test("is refused for evaluations of different things", () => {
    expect(() => compareReports(first, { ...second, reward: "./other.ts" })).toThrowError(
      "the two evaluations differ in reward: ./r.ts and ./other.ts",
    );
  });
});
