import type { Sampling } from "../session/settings.js";
import { estimate, mean, passAtK } from "./statistics.js";
import type { EvalFigures, EvalReport, EvaluatedProblem, ProblemReport } from "./types.js";

export interface ReportSubject {
  model: string;
  modelPath: string;
  data: string;
  reward: string;
  n: number;
  sampling: Sampling;
  successThreshold: number;
}

/** The report on evaluated problems: all of them, and by data source in order of appearance. */
export function buildReport(
  subject: ReportSubject,
  problems: readonly EvaluatedProblem[],
): EvalReport {
  const { n, successThreshold } = subject;
  const figures = (some: readonly EvaluatedProblem[]): EvalFigures =>
    toFigures(some, n, successThreshold);
  const sources = [...new Set(problems.map(({ dataSource }) => dataSource))];
  return {
    ...subject,
    overall: figures(problems),
    bySource: sources.map((dataSource) => ({
      dataSource,
      ...figures(problems.filter((problem) => problem.dataSource === dataSource)),
    })),
    problems: problems.map((problem) => toProblemReport(problem, successThreshold)),
  };
}

function toFigures(
  problems: readonly EvaluatedProblem[],
  n: number,
  successThreshold: number,
): EvalFigures {
  const samples = problems.flatMap((problem) => problem.samples);
  const reports = problems.map((problem) => toProblemReport(problem, successThreshold));
  const means = reports.flatMap((report) => report.mean ?? []);
  const failed = samples.flatMap(({ result }) => (result.kind === "failed" ? [result] : []));
  const abstained = samples.flatMap(({ result }) => (result.kind === "abstain" ? [result] : []));
  return {
    problems: problems.length,
    samples: samples.length,
    scored: samples.length - failed.length - abstained.length,
    unscoredProblems: reports.filter(({ scored }) => scored === 0).length,
    truncated: samples.filter(({ finishReason }) => finishReason === "length").length,
    abstained: { count: abstained.length, reasons: counts(abstained.map(({ reason }) => reason)) },
    failed: {
      count: failed.length,
      codes: counts(failed.map(({ code }) => code)),
      first: failed[0]?.reason ?? null,
    },
    meanResponseTokens:
      samples.length > 0 ? mean(samples.map(({ responseTokens }) => responseTokens)) : null,
    mean: estimate(means),
    passAt: Array.from({ length: n }, (_, index) => ({
      k: index + 1,
      estimate: estimate(
        reports.flatMap(({ scored, successes }) => passAtK(scored, successes, index + 1) ?? []),
      ),
    })),
  };
}

function toProblemReport(problem: EvaluatedProblem, successThreshold: number): ProblemReport {
  const { row, dataSource, samples } = problem;
  const scores = samples.flatMap(({ result }) => (result.kind === "score" ? [result] : []));
  return {
    row,
    dataSource,
    samples: samples.length,
    scored: scores.length,
    successes: scores.filter(({ success, value }) => success ?? value >= successThreshold).length,
    mean: scores.length > 0 ? mean(scores.map(({ value }) => value)) : null,
  };
}

function counts(words: readonly string[]): Record<string, number> {
  const found = new Map<string, number>();
  for (const word of words) found.set(word, (found.get(word) ?? 0) + 1);
  return Object.fromEntries(found);
}
