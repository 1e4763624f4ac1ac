import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { DataError } from "../bridge/errors.js";
import { sqlText, withDuckDb } from "./data/duckdb.js";
import { findRun } from "./find-run.js";

const metricSchema = z
  .object({ time: z.number(), epoch: z.int(), step: z.int(), phase: z.string() })
  .catchall(z.number())
  .transform(({ time, epoch, step, phase, ...values }) => ({
    timeMs: time * 1000,
    epoch,
    step,
    phase,
    values: values as Record<string, number>,
  }));

/** A line of metrics.jsonl. `phase` is what it tells of: agent, environment, curriculum or validation. */
export type RunMetric = z.infer<typeof metricSchema>;

const taskSchema = z
  .object({
    epoch: z.int(),
    task: z.string().nullable(),
    source: z.string(),
    parent: z.string().nullable(),
    parent_seeds: z.array(z.string()).nullable(),
    written_epoch: z.int(),
    prompt: z.string().nullable(),
    ground_truth: z.string().nullable(),
    success_rate: z.number().nullable(),
    responses: z.int(),
    scored: z.int(),
    reward: z.number().nullable(),
    trained: z.boolean(),
    kept: z.boolean(),
    reason: z.string().nullable(),
    answer: z.string().nullable(),
  })
  .transform(({ parent_seeds, written_epoch, ground_truth, success_rate, ...row }) => ({
    ...row,
    /** Ids of the tasks that the environment's prompt showed. */
    parentSeeds: parent_seeds ?? [],
    /** The epoch that wrote it; 0 for data. */
    writtenEpoch: written_epoch,
    /** JSON text; null for a rejected answer. */
    groundTruth: ground_truth,
    /** p̂; null where no response was scored. */
    successRate: success_rate,
  }));

/** A task as tried in one epoch, or (with `task` null) an answer without a valid task. */
export type RunTask = z.infer<typeof taskSchema>;

const rolloutSchema = z
  .object({
    epoch: z.int(),
    role: z.enum(["agent", "environment"]),
    phase: z.string(),
    task: z.string(),
    sample: z.int(),
    prompt: z.string(),
    response: z.string(),
    response_tokens: z.int().nullable(),
    ground_truth: z.string().nullable(),
    data_source: z.string().nullable(),
    // Runs of earlier versions have none.
    extra: z.string().nullish(),
    score: z.number().nullable(),
    success: z.boolean().nullable(),
    parts: z.string().nullable(),
    failure: z.string().nullable(),
    reason: z.string().nullable(),
  })
  .transform(({ response_tokens, ground_truth, data_source, extra, parts, ...row }) => ({
    ...row,
    /** The task's other fields as JSON; null where they weren't stored. */
    extra: extra ?? null,
    responseTokens: response_tokens,
    groundTruth: ground_truth,
    dataSource: data_source,
    /** The score's parts. */
    metrics: toNumbers(parts),
  }));

/** A response of the agent (`task` is a task's id), or an answer of the environment (`task` is the answer's). */
export type RunRollout = z.infer<typeof rolloutSchema>;

export interface LoadedRun {
  name: string;
  /** Absolute. */
  dir: string;
  /** config.yaml, as text and read; empty where the run has none yet. */
  configText: string;
  config: Record<string, unknown>;
  metrics: RunMetric[];
  /** The ledger (tasks.parquet), epoch by epoch. */
  tasks: RunTask[];
  /** Every rollout, read one epoch's file at a time. */
  rollouts(): AsyncIterable<RunRollout>;
}

/**
 * What a run has written so far: of the run `name` in runs/, or of a run's folder. A run under way can be read too.
 * Throws DataError where there is no such run, or where a file of it isn't what a run writes.
 */
export async function loadRun(
  nameOrDir: string,
  { cwd = process.cwd() }: { cwd?: string } = {},
): Promise<LoadedRun> {
  const { name, dir } = findRun(nameOrDir, cwd);
  const configFile = join(dir, "config.yaml");
  const configText = existsSync(configFile) ? readFileSync(configFile, "utf8") : "";
  return {
    name,
    dir,
    configText,
    config: (parse(configText) ?? {}) as Record<string, unknown>,
    metrics: readMetrics(join(dir, "metrics.jsonl")),
    tasks: await readLedger(dir),
    rollouts: () => readRollouts(join(dir, "rollouts")),
  };
}

/** The whole lines of metrics.jsonl; where an epoch was done again after a resume, its last ones. */
export function readMetrics(file: string): RunMetric[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  const rows = lines.map((line, index) => {
    const parsed = metricSchema.safeParse(toJson(line));
    if (parsed.success) return parsed.data;
    throw badFile(file, index + 1, parsed.error);
  });
  const last = new Map(rows.map((row) => [`${row.epoch} ${row.phase}`, row]));
  return rows.filter((row) => last.get(`${row.epoch} ${row.phase}`) === row);
}

/** tasks.parquet, and where the run is long the newest epochs in files of their own. */
async function readLedger(dir: string): Promise<RunTask[]> {
  const parts = readdirSync(dir).filter((name) => /^tasks-\d{6,}\.parquet$/.test(name));
  let tasks: RunTask[] = [];
  for (const name of ["tasks.parquet", ...parts.sort()]) {
    tasks = tasks.concat(await readParquet(join(dir, name), taskSchema));
  }
  return tasks;
}

async function* readRollouts(dir: string): AsyncGenerator<RunRollout> {
  if (!existsSync(dir)) return;
  const files = readdirSync(dir).filter((name) => /^[\w-]+\.parquet$/.test(name));
  for (const name of files.sort()) yield* await readParquet(join(dir, name), rolloutSchema);
}

async function readParquet<T>(file: string, schema: z.ZodType<T>): Promise<T[]> {
  if (!existsSync(file)) return [];
  const sql = `SELECT * FROM read_parquet(${sqlText(file)})`;
  const rows = await withDuckDb(async (connection) =>
    (await connection.runAndReadAll(sql)).getRowObjectsJson(),
  ).catch((cause: unknown) => {
    throw badFile(file, null, cause);
  });
  return rows.map((row, index) => {
    const parsed = schema.safeParse(row);
    if (parsed.success) return parsed.data;
    throw badFile(file, index + 1, parsed.error);
  });
}

function badFile(file: string, line: number | null, cause: unknown): DataError {
  const what = cause instanceof z.ZodError ? issueText(cause) : String(cause).split("\n")[0];
  return new DataError(`${line === null ? "" : `row ${line}: `}${what}`, {
    code: "bad-run-file",
    place: { file },
    hint: "a run's files are written by genenv alone; if nobody changed this one, please report it",
    cause,
  });
}

function issueText(error: z.ZodError): string {
  const [issue] = error.issues;
  return `${issue?.path.join(".") || "the line"}: ${issue?.message}`;
}

function toJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The schema says what is wrong with it, and where.
    return undefined;
  }
}

function toNumbers(text: string | null): Record<string, number> {
  return text === null ? {} : z.record(z.string(), z.number()).parse(JSON.parse(text));
}
