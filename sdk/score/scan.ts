import type { HookClient } from "../../bridge/hooks/client.js";
import type { RewardResult } from "../../bridge/hooks/types.js";
import type { ScoreCase } from "./cases.js";
import { type Changes, ChangeTally } from "./changes.js";
import { type ScoreSummary, ScoreTally } from "./summary.js";

/** Rows of a request, and requests under way at once. */
const chunkRows = 256;
const maxOpen = 3;

export interface ScanResult {
  summary: ScoreSummary;
  failures: number;
  /** Null where the cases are from no run. */
  changes: Changes | null;
}

/** Scores cases in order, a few chunks of them in memory at a time; `onResult` gets each with its result. */
export async function scan(
  client: Pick<HookClient, "score">,
  cases: AsyncIterable<ScoreCase> | Iterable<ScoreCase>,
  onResult: (each: ScoreCase, result: RewardResult, row: number) => void | Promise<void>,
  signal?: AbortSignal,
): Promise<ScanResult> {
  const tally = new ScoreTally();
  const changes = new ChangeTally();
  const open: { rows: ScoreCase[]; first: number; results: Promise<RewardResult[]> }[] = [];
  const startedMs = performance.now();
  let isReplay = false;
  const collect = async (): Promise<void> => {
    const { rows, first, results } = open.shift() as (typeof open)[number];
    const scored = await results;
    signal?.throwIfAborted();
    for (const [index, each] of rows.entries()) {
      const result = scored[index] as RewardResult;
      tally.add(result);
      changes.add(each, result);
      isReplay ||= each.before !== null;
      await onResult(each, result, first + index);
    }
  };
  let first = 0;
  for await (const rows of chunks(cases)) {
    if (open.length === maxOpen) await collect();
    const results = client.score(rows, first);
    // Awaited in its turn; until then a failure is nobody's but ours.
    results.catch(() => {});
    open.push({ rows, first, results });
    first += rows.length;
  }
  while (open.length > 0) await collect();
  const summary = tally.summary((performance.now() - startedMs) / 1000);
  return { summary, failures: tally.failures, changes: isReplay ? changes.changes() : null };
}

async function* chunks(
  cases: AsyncIterable<ScoreCase> | Iterable<ScoreCase>,
): AsyncGenerator<ScoreCase[]> {
  let rows: ScoreCase[] = [];
  for await (const each of cases) {
    rows.push(each);
    if (rows.length < chunkRows) continue;
    yield rows;
    rows = [];
  }
  if (rows.length > 0) yield rows;
}
