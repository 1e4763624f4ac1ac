import { tableFromIPC } from "apache-arrow";
import { badFrame, FAILURE_CODES, Kind, RESULT_COLUMNS } from "../wire.js";
import { failed } from "./result.js";
import { abstain, type FailureCode, type RewardResult, score } from "./types.js";

/** The results in a reply to SCORE; throws a HookError "bad-frame" where it has no sound result for each row. */
export function readScores(kind: Kind, bytes: Buffer, rows: number): RewardResult[] {
  const results = kind === Kind.REPLY_F64 ? plainScores(bytes) : arrowScores(bytes);
  if (results.length === rows) return results;
  throw badFrame(`has ${results.length} results for ${rows} rows`);
}

function plainScores(bytes: Buffer): RewardResult[] {
  if (bytes.length % 8 !== 0) throw badFrame(`has ${bytes.length} bytes of scores`);
  return Array.from({ length: bytes.length / 8 }, (_, row) =>
    toScore(bytes.readDoubleLE(8 * row), null, null),
  );
}

function arrowScores(bytes: Buffer): RewardResult[] {
  const table = tableFromIPC(bytes);
  const columns = RESULT_COLUMNS.map((name) => {
    const column = table.getChild(name);
    if (column === null) throw badFrame(`misses the column "${name}"`);
    return column;
  });
  return Array.from({ length: table.numRows }, (_, row) =>
    toResult(columns.map((column): unknown => column.get(row))),
  );
}

/** A row's result from its values in the order of RESULT_COLUMNS. */
function toResult([kind, value, success, metrics, code, reason]: unknown[]): RewardResult {
  if (kind === 0) return toScore(value, success, metrics);
  if (kind === 1) return abstain(String(reason));
  if (isCode(code)) return failed(code, String(reason));
  throw badFrame(`has a result of kind ${String(kind)}`);
}

function toScore(value: unknown, success: unknown, metrics: unknown): RewardResult {
  if (typeof value !== "number" || !Number.isFinite(value)) {
    throw badFrame("has a score that is no finite number");
  }
  return score(value, {
    success: typeof success === "boolean" ? success : null,
    metrics: typeof metrics === "string" ? JSON.parse(metrics) : {},
  });
}

const isCode = (code: unknown): code is FailureCode =>
  (FAILURE_CODES as readonly unknown[]).includes(code);
