import type { ResolvedConfig } from "../config/resolve.js";
import { assertBatches } from "./batch.js";
import { type RunData, readRunData } from "./data.js";
import { assertModel } from "./models.js";

const modelKey = ["actor_rollout_ref", "model", "path"];

/**
 * What can be found wrong without Python, in seconds: batch arithmetic, models, every row of the data. Throws the
 * first ConfigError or DataError; hooks are checked by starting their host, prompt lengths by Python's check.
 */
export async function preflight(config: ResolvedConfig): Promise<RunData> {
  assertBatches(config);
  await assertModel(config.agentModel, config.placeOf(modelKey));
  if (config.envModelPath) {
    await assertModel(config.envModelPath, config.placeOf(["env_model_path"]));
  }
  return readRunData(config);
}
