/** What a reward returned, turned into a result or into the failure that says why it is none. */
import type { Abstain, Failed, FailureCode, RewardResult, Score } from "./types.js";

/** Who is speaking and about which sample, for messages. */
export type Where = { hook: string; sample: number; taskId: string | null };

export function failed(code: FailureCode, reason: string): Failed {
  return { kind: "failed", code, reason };
}

export function describeWhere(where: Where): string {
  const task = where.taskId === null ? "" : ` of task ${where.taskId}`;
  return `sample ${where.sample}${task}`;
}

/** A plain number for the common score without parts, so that whole batches stay cheap. */
export function toRewardResult(returned: unknown, where: Where): number | RewardResult {
  if (typeof returned === "number" && Number.isFinite(returned)) return returned;
  if (typeof returned === "object" && returned !== null) {
    const record = returned as Record<string, unknown>;
    if (record.kind === "score") return checkedScore(record, where);
    if (record.kind === "abstain") return checkedAbstain(record, where);
    if (record.kind === undefined && "score" in record) {
      return toRewardResult(record.score, where);
    }
  }
  return badResult(where, showValue(returned));
}

/** The failure of a hook that threw, with its own stack: files and lines as the user wrote them. */
export function threw(error: unknown, where: Where): Failed {
  return failed("threw", `${where.hook} threw for ${describeWhere(where)}: ${stackOf(error)}`);
}

export function timedOut(where: Where, timeoutMs: number): Failed {
  return failed(
    "timeout",
    `${where.hook} took more than ${timeoutMs} ms for ${describeWhere(where)}; ` +
      "make it faster or raise genenv.hooks.timeout_ms",
  );
}

export function batchTimedOut(where: Where, batchTimeoutMs: number): Failed {
  return failed(
    "timeout",
    `${describeWhere(where)} had no result from ${where.hook} when the batch's ${batchTimeoutMs} ms were over; ` +
      "make the hook faster or raise genenv.hooks.batch_timeout_ms",
  );
}

export function crashed(where: Where, what: string): Failed {
  return failed("crashed", `${where.hook} ${what} for ${describeWhere(where)}`);
}

export function outOfMemory(where: Where, heapMb: number): Failed {
  return failed(
    "out-of-memory",
    `${where.hook} needed more than ${heapMb} MB of heap for ${describeWhere(where)}; ` +
      "keep less, or raise genenv.hooks.heap_mb",
  );
}

/** The error's stack without the frames of Node and of this package. */
export function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return showValue(error);
  const lines = (error.stack ?? "").split("\n");
  const frames = lines.filter((line) => /^\s+at /.test(line) && !/node:|\bgenenv:/.test(line));
  const ours = frames.findIndex((line) =>
    /[\\/]((dist|bridge)[\\/](bridge[\\/])?hooks[\\/]|sdk[\\/]define\.[jt]s:)/.test(line),
  );
  const shown = frames.slice(0, ours === -1 ? MAX_FRAMES : Math.min(ours, MAX_FRAMES));
  return [`${error.name}: ${error.message}`, ...shown].join("\n");
}

const MAX_FRAMES = 8;
const MAX_SHOWN = 120;

/** A value as a message shows it, cut to a line. */
export function showValue(value: unknown): string {
  const text = rawShow(value).replace(/\s+/g, " ");
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

function rawShow(value: unknown): string {
  if (typeof value === "string") return `the string ${JSON.stringify(value.slice(0, MAX_SHOWN))}`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === "function") return "a function";
  if (typeof value !== "object" || value === null) return String(value);
  try {
    return JSON.stringify(value) ?? "an object";
  } catch {
    return "an object";
  }
}

function badResult(where: Where, shown: string): Failed {
  return failed(
    "bad-result",
    `${where.hook} returned ${shown} for ${describeWhere(where)}; ` +
      'return a finite number, or abstain("why") to leave the sample out',
  );
}

function checkedScore(score: Record<string, unknown>, where: Where): Score | Failed {
  const { value, success = null, metrics = {} } = score;
  if (typeof value !== "number" || !Number.isFinite(value)) {
    return badResult(where, `a score of ${showValue(value)}`);
  }
  if (success !== null && typeof success !== "boolean") {
    return badResult(where, `a score whose success is ${showValue(success)}`);
  }
  if (typeof metrics !== "object" || metrics === null || Array.isArray(metrics)) {
    return badResult(where, `a score whose metrics are ${showValue(metrics)}`);
  }
  for (const [name, metric] of Object.entries(metrics)) {
    if (typeof metric !== "number" || !Number.isFinite(metric)) {
      return badResult(where, `a score whose metric "${name}" is ${showValue(metric)}`);
    }
  }
  return { kind: "score", value, success, metrics: metrics as Record<string, number> };
}

function checkedAbstain(abstain: Record<string, unknown>, where: Where): Abstain | Failed {
  if (typeof abstain.reason === "string") return { kind: "abstain", reason: abstain.reason };
  return badResult(where, `an abstain whose reason is ${showValue(abstain.reason)}`);
}
