import { statSync } from "node:fs";
import type { RewardColumn } from "../../bridge/hooks/types.js";
import type { ScoreCase } from "./cases.js";
import type { ScoreSource } from "./source.js";

/** More cases than these are read again each time: they would fill the memory. */
const maxKept = 100_000;

/** The same source, whose cases stay decoded from one scan to the next until their file is saved. */
export function keepCases(source: ScoreSource): ScoreSource {
  let kept: { rows: ScoreCase[]; key: string } | null = null;
  return {
    ...source,
    async *cases(uses) {
      const key = keyOf(source.file, uses);
      if (kept?.key === key) {
        yield* kept.rows;
        return;
      }
      kept = null;
      const rows: ScoreCase[] = [];
      for await (const each of source.cases(uses)) {
        if (rows.length <= maxKept) rows.push(each);
        yield each;
      }
      if (rows.length <= maxKept) kept = { rows, key };
    },
  };
}

/** What the decoded cases depend on. */
function keyOf(file: string | null, uses: readonly RewardColumn[]): string {
  const stat = file === null ? undefined : statSync(file, { throwIfNoEntry: false });
  return JSON.stringify([stat?.mtimeMs, stat?.size, stat?.ino, ...uses]);
}
