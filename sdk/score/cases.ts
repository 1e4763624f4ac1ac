import type { ScoreRow } from "../../bridge/hooks/score-all.js";
import type { RewardColumn, RewardResult } from "../../bridge/hooks/types.js";
import { type RawRow, rawRows } from "../data/raw.js";
import { rowError } from "../data/read.js";
import { isRecord, type RowProblem, textOrNull, toMessages } from "../data/row.js";

/** A recorded response to score. */
export interface ScoreCase extends ScoreRow {
  taskId: string;
  /** The result that a run stored for it; null where it is from no run. */
  before: RewardResult | null;
}

/**
 * The cases of a Parquet, JSONL, JSON or CSV file, one after another: `response` and `ground_truth` (or veRL's
 * `reward_model.ground_truth`), and what of `prompt`, `data_source` and `extra` the reward uses. The names of veRL's own
 * rollout dumps (`output`, `gts`, `input`) are read too. Throws DataError naming the first row that can't be used.
 */
export async function* readCases(
  file: string,
  uses: readonly RewardColumn[],
): AsyncGenerator<ScoreCase> {
  let row = 0;
  for await (const raw of rawRows(file)) {
    row += 1;
    const read = toCase(raw, uses, row);
    if ("problem" in read) throw rowError(file, [read]);
    yield read;
  }
}

const names = {
  response: ["response", "output"],
  groundTruth: ["ground_truth", "gts", "answer"],
  prompt: ["prompt", "input", "question"],
  taskId: ["task_id", "task", "id", "uid"],
  extra: ["extra_info", "extra"],
} as const;

function toCase(raw: RawRow, uses: readonly RewardColumn[], row: number): ScoreCase | RowProblem {
  const [responseName, response] = pick(raw, names.response);
  if (typeof response !== "string") return bad(row, responseName, response);
  const [truthName, groundTruth] = truthOf(raw);
  if (groundTruth === undefined || groundTruth === null) return bad(row, truthName, groundTruth);
  const [promptName, prompt] = pick(raw, names.prompt);
  const messages = uses.includes("messages") ? toMessages(prompt) : [];
  if (typeof messages === "string") return { row, column: promptName, problem: messages };
  const [, taskId] = pick(raw, names.taskId);
  const [, extra] = pick(raw, names.extra);
  return {
    response,
    groundTruth,
    messages,
    taskId: typeof taskId === "string" || typeof taskId === "number" ? `${taskId}` : `row-${row}`,
    dataSource: textOrNull(raw.data_source),
    extra: isRecord(extra) ? extra : {},
    before: null,
  };
}

function truthOf(raw: RawRow): [name: string, value: unknown] {
  const { reward_model: veRls } = raw;
  if (isRecord(veRls)) return ["reward_model.ground_truth", veRls.ground_truth];
  return pick(raw, names.groundTruth);
}

/** The first of these columns that the row has; else the first name and undefined. */
function pick(raw: RawRow, columns: readonly [string, ...string[]]): [string, unknown] {
  const name = columns.find((column) => raw[column] !== undefined) ?? columns[0];
  return [name, raw[name]];
}

function bad(row: number, column: string, value: unknown): RowProblem {
  const problem =
    value === undefined || value === null ? "is missing" : `is ${typeof value}; it takes a text`;
  return { row, column, problem };
}
