/** Answers the hook plane's requests with whatever runs rows: a pool of workers, or this thread. */
import { readRowCount, readTextBatch, type TextBatch } from "../arrow-read.js";
import type { ReplyColumn } from "../arrow-write.js";
import { HookError } from "../errors.js";
import { Column, JSON_COLUMNS, Kind, Op, RESULT_COLUMNS, RESULT_KINDS } from "../wire.js";
import { whereOf } from "./columns.js";
import type { Handler, Reply } from "./connection.js";
import type { PoolReply, PoolRequest } from "./job.js";
import { toWireJson } from "./json.js";
import type { HookInfo } from "./load.js";
import { hookName } from "./names.js";
import type { Where } from "./result.js";
import type { Failed, RewardResult } from "./types.js";

export type RunRows = (request: PoolRequest, signal: AbortSignal) => Promise<PoolReply>;

export type HandlerOptions = {
  info: HookInfo;
  hasAlgorithms: boolean;
  run: RunRows;
  /** Called with the first failure of each code of each hook; the loop counts them all. */
  onFailure: (failure: Failed) => void;
};

export function createHandler({ info, hasAlgorithms, run, onFailure }: HandlerOptions): Handler {
  const missing = missingHooks(info, hasAlgorithms);
  const reportFirst = firstOfEachKind(onFailure);
  return async ({ header, payload, signal, release, lane }) => {
    const { op, id, attempt } = header;
    if (op === Op.DESCRIBE) return jsonReply([{ json: toWireJson(info) }]);
    const word = missing.get(op);
    if (word !== undefined) {
      throw new HookError(`this run has no ${word} hook`, {
        code: "hook-absent",
        hint: `set genenv.hooks.${word} in the configuration`,
      });
    }
    if (op === Op.LABEL && !info.canExtract) {
      throw new HookError("this run's reward has no extract", {
        code: "hook-absent",
        hint: "give defineReward an `extract(response)`",
      });
    }
    const rows = readRowCount(payload);
    // Workers decode the batch; this thread only for its messages.
    const batch = once(() => readTextBatch(payload));
    const wheres = once(() => whereOf(hookName(op, info), batch()));
    const where = (row: number): Where => wheres()(row);
    const reply = await run({ id, op, attempt, rows, payload, where, release, lane }, signal);
    if (reply.isSent) return null;
    reportFirst(op, reply, batch);
    return op === Op.SCORE ? await scoreReply(reply) : jsonReply(jsonRows(reply, rows));
  };
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

function firstOfEachKind(
  onFailure: (failure: Failed) => void,
): (op: Op, reply: PoolReply, batch: () => TextBatch) => void {
  const seen = new Set<string>();
  return (op, { others }, batch) => {
    for (const [row, result] of others) {
      if (result.kind !== "failed" || seen.has(`${op} ${result.code}`)) continue;
      seen.add(`${op} ${result.code}`);
      onFailure({ ...result, reason: result.reason + sampleText(op, batch(), row) });
    }
  };
}

const SHOWN_CHARACTERS = 200;

/** The beginning of what the hook was given, on a line of its own. */
function sampleText(op: Op, batch: TextBatch, row: number): string {
  const column = op === Op.SCORE ? Column.RESPONSE : op === Op.PARSE ? Column.ANSWER : null;
  const text = column === null ? null : (batch.columns.get(column)?.get(row) ?? null);
  if (text === null) return "";
  const more = text.length > SHOWN_CHARACTERS ? ` … (${text.length} characters)` : "";
  return `\n    ${column}: ${JSON.stringify(text.slice(0, SHOWN_CHARACTERS))}${more}`;
}

function missingHooks(info: HookInfo, hasAlgorithms: boolean): Map<Op, string> {
  const missing = new Map<Op, string>();
  if (info.reward === null) missing.set(Op.SCORE, "reward");
  if (info.environment === null)
    missing.set(Op.PROMPTS, "environment").set(Op.PARSE, "environment");
  if (info.curriculum === null) missing.set(Op.SELECT, "curriculum");
  if (!hasAlgorithms) missing.set(Op.ALPHA, "algorithms").set(Op.LABEL, "algorithms");
  return missing;
}

async function scoreReply({ values, others }: PoolReply): Promise<Reply> {
  if (others.size === 0) {
    const bytes = Buffer.from(values.buffer as ArrayBuffer, values.byteOffset, values.byteLength);
    return { kind: Kind.REPLY_F64, payload: bytes };
  }
  const rows = Array.from(values, (value, row) => others.get(row) ?? value);
  const results = rows.map((row) => (typeof row === "number" ? null : (row as RewardResult)));
  const pick = <T>(get: (result: RewardResult) => T | null): (T | null)[] =>
    results.map((result) => (result === null ? null : get(result)));
  const [kind, value, success, metrics, code, reason] = RESULT_COLUMNS;
  const payload = await toArrow([
    {
      name: kind,
      type: "uint8",
      values: results.map((r) => RESULT_KINDS.indexOf(r?.kind ?? "score")),
    },
    {
      name: value,
      type: "float64",
      values: results.map((r, row) =>
        r === null ? (values[row] as number) : r.kind === "score" ? r.value : null,
      ),
    },
    { name: success, type: "bool", values: pick((r) => (r.kind === "score" ? r.success : null)) },
    { name: metrics, type: "utf8", values: pick(metricsJson) },
    { name: code, type: "utf8", values: pick((r) => (r.kind === "failed" ? r.code : null)) },
    { name: reason, type: "utf8", values: pick((r) => (r.kind === "score" ? null : r.reason)) },
  ]);
  return { kind: Kind.REPLY, payload };
}

function metricsJson(result: RewardResult): string | null {
  if (result.kind !== "score" || Object.keys(result.metrics).length === 0) return null;
  return toWireJson(result.metrics);
}

type JsonRow = { json: string } | { code: string; reason: string };

function jsonRows({ others }: PoolReply, rows: number): JsonRow[] {
  return Array.from({ length: rows }, (_, row) => {
    const result = others.get(row);
    if (result?.kind === "json") return { json: result.json };
    if (result?.kind === "failed") return { code: result.code, reason: result.reason };
    return { code: "crashed", reason: `row ${row} has no result` };
  });
}

async function jsonReply(rows: JsonRow[]): Promise<Reply> {
  const [json, code, reason] = JSON_COLUMNS;
  const payload = await toArrow([
    { name: json, type: "utf8", values: rows.map((row) => ("json" in row ? row.json : null)) },
    { name: code, type: "utf8", values: rows.map((row) => ("code" in row ? row.code : null)) },
    { name: reason, type: "utf8", values: rows.map((row) => ("code" in row ? row.reason : null)) },
  ]);
  return { kind: Kind.REPLY, payload };
}

/** Loaded beside the hooks, and not before: a host that starts again must answer soon, and plain scores never need it. */
async function toArrow(columns: ReplyColumn[]): Promise<Uint8Array> {
  const { writeBatch } = await import("../arrow-write.js");
  return writeBatch(columns);
}
