import type { RewardResult } from "../../bridge/hooks/types.js";
import type { Change, Changes } from "../score/changes.js";
import type { Bin, ScoreSummary } from "../score/summary.js";
import { toSafeText } from "./progress-text.js";

const barWidth = 40;
const shownChanges = 20;

/** A summary as lines: counts and mean, parts, histogram, what abstained and what failed, and the speed. */
export function formatSummary(reward: string, summary: ScoreSummary): string {
  const { rows, scored, mean, abstained, failed, metrics, histogram } = summary;
  const abstentions = sum(Object.values(abstained));
  const failures = sum(Object.values(failed).map(({ count }) => count));
  return [
    `reward "${reward}" on ${plural(rows, "response")}: ${scored} scored, ${abstentions} abstained, ${failures} failed`,
    ...(mean === null ? [] : [`mean ${short(mean)}${partsText(metrics)}`]),
    ...histogramLines(histogram),
    ...countLines("abstained", abstained),
    ...Object.entries(failed).flatMap(([code, { count, first }]) => [
      `failed ${code} ${count}; the first:`,
      ...first.split("\n").map((line) => `  ${line}`),
    ]),
    `${Math.round(summary.perSecond).toLocaleString("en")} samples a second`,
  ]
    .map(toSafeText)
    .join("\n");
}

/** What a changed reward would have given a run's responses. */
export function formatChanges(changes: Changes, meanAfter: number | null): string {
  const { same, changed, up, down, meanBefore, examples } = changes;
  const shown = examples.slice(0, shownChanges);
  const rest = changed - shown.length;
  return [
    `${plural(changed, "score")} of ${same + changed} changed: ${up} up, ${down} down, ${changed - up - down} other`,
    `mean ${meanBefore === null ? "-" : short(meanBefore)} -> ${meanAfter === null ? "-" : short(meanAfter)}`,
    ...shown.map(changeLine),
    ...(rest > 0 ? [`  and ${rest} more`] : []),
  ]
    .map(toSafeText)
    .join("\n");
}

const changeLine = ({ task, response, before, after }: Change): string =>
  `  ${task}: ${resultText(before)} -> ${resultText(after)}  ${JSON.stringify(response.slice(0, 60))}`;

function resultText(result: RewardResult): string {
  if (result.kind === "score") return short(result.value);
  return result.kind === "abstain" ? "abstain" : `failed ${result.code}`;
}

function partsText(metrics: Record<string, number>): string {
  const parts = Object.entries(metrics).map(([name, value]) => `${name} ${short(value)}`);
  return parts.length === 0 ? "" : `  (parts: ${parts.join(", ")})`;
}

function histogramLines(bins: readonly Bin[]): string[] {
  const most = Math.max(...bins.map(({ count }) => count));
  const labels = bins.map(({ from, to }) =>
    from === to ? short(from) : `${short(from)} to ${short(to)}`,
  );
  const width = Math.max(...labels.map((label) => label.length));
  return bins.map(({ count }, bin) => {
    const bar = "#".repeat(count === 0 ? 0 : Math.max(1, Math.round((count / most) * barWidth)));
    return `  ${(labels[bin] as string).padStart(width)}  ${bar} ${count}`;
  });
}

const countLines = (word: string, counts: Record<string, number>): string[] =>
  Object.entries(counts).map(([reason, count]) => `${word} ${count}: ${reason.slice(0, 200)}`);

const sum = (counts: readonly number[]): number => counts.reduce((total, one) => total + one, 0);
const plural = (count: number, word: string): string =>
  `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
const short = (value: number): string => String(Number(value.toPrecision(4)));
