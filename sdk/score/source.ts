import { resolve } from "node:path";
import { z } from "zod";
import { ConfigError } from "../../bridge/errors.js";
import type { Limits } from "../../bridge/hooks/messages.js";
import type { RewardColumn } from "../../bridge/hooks/types.js";
import { genenvSchema } from "../config/schema.js";
import { loadRun } from "../load-run.js";
import { readCases, type ScoreCase } from "./cases.js";
import { storedCases } from "./stored.js";

/** What is scored, by which reward, and under which limits. */
export interface ScoreSource {
  reward: string;
  limits: Partial<Limits>;
  /** The file of cases; null for those of a run. */
  file: string | null;
  cases(uses: readonly RewardColumn[]): AsyncIterable<ScoreCase>;
}

export interface ScoreRequest {
  reward?: string;
  in?: string;
  run?: string;
  timeoutMs?: number;
  concurrency?: number;
}

const defaults = genenvSchema.parse({}).hooks;

/** The limits are a run's defaults, or those of the run that is replayed. Throws ConfigError or DataError. */
export async function openSource(request: ScoreRequest, cwd: string): Promise<ScoreSource> {
  if ((request.in === undefined) === (request.run === undefined)) {
    throw new ConfigError("give either --in FILE or --run NAME", {
      code: "bad-option",
      place: { at: "--in" },
      hint: "genenv score --reward ./reward.ts --in cases.jsonl, or genenv score --run runs/NAME",
    });
  }
  if (request.run !== undefined) return runSource(request, request.run, cwd);
  const file = resolve(cwd, String(request.in));
  const reward = assertReward(request.reward ?? null, "--reward is missing");
  return {
    reward,
    limits: toLimits({}, request),
    file,
    cases: (uses) => readCases(file, uses),
  };
}

const storedHooks = z.object({
  genenv: z.object({
    hooks: z.object({
      reward: z.string().nullish(),
      timeout_ms: z.number().optional(),
      batch_timeout_ms: z.number().optional(),
      heap_mb: z.number().optional(),
      concurrency: z.number().optional(),
    }),
  }),
});
type StoredHooks = z.infer<typeof storedHooks>["genenv"]["hooks"];

async function runSource(request: ScoreRequest, name: string, cwd: string): Promise<ScoreSource> {
  const run = await loadRun(name, { cwd });
  const parsed = storedHooks.safeParse(run.config);
  const hooks: StoredHooks = parsed.success ? parsed.data.genenv.hooks : {};
  const none = `the run ${run.name} has no reward in a file`;
  return {
    reward: assertReward(request.reward ?? hooks.reward ?? null, none),
    limits: toLimits(hooks, request),
    file: null,
    cases: () => storedCases(run),
  };
}

function assertReward(reward: string | null, problem: string): string {
  if (reward !== null) return reward;
  throw new ConfigError(problem, {
    code: "hook-unset",
    place: { at: "--reward" },
    hint: "name one: --reward ./reward.ts, or --reward builtin:math",
  });
}

function toLimits(hooks: Partial<StoredHooks>, request: ScoreRequest): Partial<Limits> {
  const all = { ...defaults, ...hooks };
  return {
    timeoutMs: request.timeoutMs ?? all.timeout_ms,
    batchTimeoutMs: all.batch_timeout_ms,
    heapMb: all.heap_mb,
    concurrency: request.concurrency ?? all.concurrency,
  };
}
