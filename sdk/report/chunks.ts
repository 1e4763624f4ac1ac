import { gzipSync } from "node:zlib";
import type { RunRollout } from "../load-run.js";
import type { ReportRollout, RolloutChunk } from "./data.js";

export interface PackLimits {
  /** Of one response; the rest is cut off, and says so. */
  textChars: number;
  /** Of all packed chunks together. */
  totalBytes: number;
  tasksPerChunk: number;
}

const defaultLimits: PackLimits = {
  textChars: 8_000,
  totalBytes: 24_000_000,
  tasksPerChunk: 100,
};

export interface Packed {
  chunks: string[];
  answerChunks: Record<string, number>;
  /** Responses and answers without room. */
  leftOut: number;
  /** The chunk of a task's responses in an epoch; -1 where there is none. */
  chunkOf(epoch: number, task: string | null): number;
}

export interface Packer {
  /** Takes the rollouts of an epoch one after another. */
  add(rollout: RunRollout): void;
  finish(): Packed;
}

/**
 * Packs rollouts into chunks that the page unpacks one at a time: base64 of gzip of JSON. Once the chunks fill the
 * room there is, later ones are left out and counted.
 */
export function newPacker(limits: PackLimits = defaultLimits): Packer {
  const chunks: string[] = [];
  const answerChunks: Record<string, number> = {};
  const places = new Map<string, number>();
  let open: { kind: string; epoch: number; rows: RolloutChunk; tasks: number } | null = null;
  let bytes = 0;
  let leftOut = 0;

  const close = (): void => {
    if (!open) return;
    const { kind, epoch, rows } = open;
    open = null;
    const text = gzipSync(JSON.stringify(rows)).toString("base64");
    if (bytes + text.length > limits.totalBytes) {
      leftOut += Object.values(rows).reduce((total, list) => total + list.length, 0);
      return;
    }
    bytes += text.length;
    const place = chunks.push(text) - 1;
    if (kind === "environment") answerChunks[String(epoch)] = place;
    else for (const task of Object.keys(rows)) places.set(`${epoch} ${task}`, place);
  };

  return {
    add(rollout) {
      const { role: kind, epoch, task } = rollout;
      const isNew = open === null || open.rows[task] === undefined;
      const isFull = kind === "agent" && isNew && (open?.tasks ?? 0) >= limits.tasksPerChunk;
      if (open && (open.kind !== kind || open.epoch !== epoch || isFull)) close();
      open ??= { kind, epoch, rows: Object.create(null) as RolloutChunk, tasks: 0 };
      if (open.rows[task] === undefined) {
        open.rows[task] = [];
        open.tasks += 1;
      }
      open.rows[task].push(toReportRollout(rollout, limits.textChars));
    },
    finish() {
      close();
      const chunkOf = (epoch: number, task: string | null): number =>
        places.get(`${epoch} ${task}`) ?? -1;
      return { chunks, answerChunks, leftOut, chunkOf };
    },
  };
}

function toReportRollout(rollout: RunRollout, textChars: number): ReportRollout {
  return {
    sample: rollout.sample,
    prompt: rollout.role === "environment" ? cut(rollout.prompt, textChars) : null,
    response: cut(rollout.response, textChars),
    tokens: rollout.responseTokens,
    score: rollout.score,
    success: rollout.success,
    metrics: rollout.metrics,
    failure: rollout.failure,
    reason: rollout.reason,
  };
}

const cut = (text: string, chars: number): string =>
  text.length <= chars ? text : `${text.slice(0, chars)}\n… (${text.length - chars} more)`;
