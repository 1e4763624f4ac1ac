import { z } from "zod";
import { PythonError } from "../../bridge/errors.js";
import { isRewardHook, type RewardHook, type RewardResult } from "../../bridge/hooks/types.js";
import { makePrivateDir } from "../../bridge/python/private-dir.js";
import type { PythonSession } from "../../bridge/python/session.js";
import type { DataFile } from "../data/read.js";
import type { DataRow } from "../data/row.js";
import { assertGroundTruths } from "../preflight/data.js";
import { rewardModule } from "../run/hook-modules.js";
import { type RunParts, realParts } from "../run/parts.js";
import { rewardResultSchema } from "./result-schema.js";
import type { EvalOptions } from "./types.js";

/** A response and the row it answers. */
export interface ScoreRequest {
  response: string;
  row: number;
  data: DataRow;
}

/** A reward in its hook host, which `score` reaches through Python, as the training loop does. */
export interface Scorer {
  score(
    python: Pick<PythonSession, "call">,
    rows: readonly ScoreRequest[],
  ): Promise<RewardResult[]>;
  close(): Promise<void>;
}

export interface ScorerOptions {
  reward: EvalOptions["reward"];
  limits: EvalOptions["limits"];
  projectDir: string;
  parts?: RunParts;
}

/** Starts a reward's host and checks the data's ground truths against the reward's schema. */
export async function startScorer(options: ScorerOptions, data: DataFile): Promise<Scorer> {
  const { reward, limits, projectDir, parts = realParts } = options;
  const dir = await makePrivateDir();
  try {
    const host = await parts.startHookHost({
      modules: {
        reward: rewardModule(reward),
        environment: null,
        curriculum: null,
        algorithms: null,
      },
      dir: dir.path,
      logFile: null,
      limits,
      projectDir,
    });
    const close = async (): Promise<void> => {
      await host.close();
      await dir.remove();
    };
    try {
      const hook = await loadReward(reward, projectDir);
      if (hook) assertGroundTruths([data], hook);
    } catch (error) {
      await close();
      throw error;
    }
    const { address } = host;
    return { close, score: (python, rows) => scoreRows(python, { address, token: null }, rows) };
  } catch (error) {
    await dir.remove();
    throw error;
  }
}

async function loadReward(
  reward: EvalOptions["reward"],
  projectDir: string,
): Promise<RewardHook | null> {
  if (typeof reward !== "string") return isRewardHook(reward) ? reward : null;
  const module = rewardModule(reward);
  if (module.kind !== "file") return null;
  const [{ compileHook }, { importHook }] = await Promise.all([
    import("../../bridge/hooks/bundle.js"),
    import("../../bridge/hooks/load.js"),
  ]);
  const hook = await importHook(await compileHook(module, projectDir), "reward");
  return isRewardHook(hook) ? hook : null;
}

const resultsSchema = z.object({ results: z.array(rewardResultSchema) });

async function scoreRows(
  python: Pick<PythonSession, "call">,
  host: { address: string; token: string | null },
  requests: readonly ScoreRequest[],
): Promise<RewardResult[]> {
  const rows = requests.map(({ response, row, data }) => ({
    response,
    groundTruth: data.groundTruth,
    taskId: `row-${row}`,
    messages: data.prompt,
    dataSource: data.dataSource,
    extra: data.extra,
  }));
  const answer = resultsSchema.safeParse(await python.call("score", { ...host, rows }));
  if (answer.success && answer.data.results.length === rows.length) return answer.data.results;
  throw new PythonError(`the job "score" gave no result for each of ${rows.length} responses`, {
    code: "bad-message",
    hint: "this is a defect in genenv; please report it",
    cause: answer.error,
  });
}
