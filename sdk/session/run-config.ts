import { verlDefault } from "../config/keys.js";
import { resolveConfig } from "../config/resolve.js";
import { getAt } from "../config/tree.js";
import type { SessionConfig } from "./settings.js";

/** A session as a run's YAML would roll out: its agent, device, response length and sampling. */
export function sessionOfRun(file: string, cwd: string): SessionConfig {
  // The run itself isn't started: it needs no hooks, and its folder may be there.
  const config = resolveConfig({
    config: file,
    cwd,
    overrides: ["trainer.resume_mode=auto"],
    hooksGiven: ["reward", "environment"],
  });
  const key = (name: string): unknown =>
    getAt(config.verl.agent, name.split(".")) ?? verlDefault(name);
  const rollout = (name: string): unknown => key(`actor_rollout_ref.rollout.${name}`);
  const topK = Number(rollout("top_k"));
  const parallel = Number(rollout("tensor_model_parallel_size"));
  return {
    model: config.agentModel,
    device: config.genenv.device as "auto" | "cpu" | "cuda",
    engine: parallel > 1 ? { tensor_parallel_size: parallel } : {},
    sampling: {
      temperature: Number(rollout("temperature")),
      topP: Number(rollout("top_p")),
      topK: topK > 0 ? topK : -1,
      maxTokens: Number(key("data.max_response_length")),
    },
  };
}
