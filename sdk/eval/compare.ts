import { DataError } from "../../bridge/errors.js";
import { pairedTest } from "./statistics.js";
import type { EvalComparison, EvalReport, ProblemReport } from "./types.js";

/**
 * Whether the second model does better than the first, problem by problem: see `pairedTest`. Problems that only one of
 * them has scored are left out. Throws DataError where the reports are on different data, rewards or sample counts.
 */
export function compareReports(
  first: EvalReport,
  second: EvalReport,
  { seed = 0 }: { seed?: number } = {},
): EvalComparison {
  assertAlike(first, second);
  const others = new Map(second.problems.map((problem) => [problem.row, problem]));
  const pairs = first.problems.flatMap((problem) => {
    const other = others.get(problem.row);
    return other && problem.scored > 0 && other.scored > 0 ? [[problem, other] as const] : [];
  });
  const test = (value: (problem: ProblemReport) => number): EvalComparison["mean"] =>
    pairedTest(
      pairs.map(([a, b]) => value(b) - value(a)),
      seed,
    );
  return {
    first: first.model,
    second: second.model,
    problems: pairs.length,
    mean: test((problem) => problem.mean ?? 0),
    passAt1: test(({ successes, scored }) => successes / scored),
  };
}

function assertAlike(first: EvalReport, second: EvalReport): void {
  const differs = (["data", "reward", "n", "successThreshold"] as const).find(
    (key) => first[key] !== second[key],
  );
  if (!differs) return;
  throw new DataError(
    `the two evaluations differ in ${differs}: ${first[differs]} and ${second[differs]}`,
    {
      code: "eval-differs",
      hint: "compare evaluations of the same data with the same reward and sample count",
    },
  );
}
