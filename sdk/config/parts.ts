import { ConfigError, type ErrorPlace } from "../../bridge/errors.js";
import type { GenenvConfig } from "./schema.js";
import { getAt, type Tree } from "./tree.js";

type PlaceOf = (path: readonly string[]) => ErrorPlace | null;
export type HookRole = "reward" | "environment" | "curriculum";

const modelPath = ["actor_rollout_ref", "model", "path"];

/** The agent's model as written; throws where none is given. */
export function agentModelOf(agent: Tree, placeOf: PlaceOf): string {
  const model = getAt(agent, modelPath);
  if (typeof model === "string" && model !== "" && model !== "agent") return model;
  throw new ConfigError("no agent model is given", {
    code: "model-missing",
    place: placeOf(modelPath),
    hint: "set actor_rollout_ref.model.path (or --model) to a folder, a hub id, or builtin:smollm2-135m",
  });
}

/** The environment's model: as written, else the agent's (a copy of its own); null for plain GRPO. */
export function envModelOf(
  written: unknown,
  agentModel: string,
  genenv: GenenvConfig,
  placeOf: PlaceOf,
): string | null {
  if (!genenv.enable) return null;
  if (written === undefined || written === null) return agentModel;
  if (typeof written === "string" && written !== "") return written;
  throw new ConfigError(`env_model_path is ${JSON.stringify(written)}; it takes a text`, {
    code: "bad-value",
    place: placeOf(["env_model_path"]),
    hint: 'a folder, a hub id, builtin:smollm2-135m, or "agent" for one model in both roles',
  });
}

/** The data files of a run, one or more each; throws where one of the two is not given. */
export function dataFilesOf(
  agent: Tree,
  placeOf: PlaceOf,
): { train: string[]; validation: string[] } {
  return {
    train: filesAt(agent, "train_files", placeOf),
    validation: filesAt(agent, "val_files", placeOf),
  };
}

function filesAt(agent: Tree, key: string, placeOf: PlaceOf): string[] {
  const value = getAt(agent, ["data", key]);
  const files = typeof value === "string" ? [value] : value;
  const good = Array.isArray(files) && files.every((file) => typeof file === "string" && file);
  if (good && files.length > 0) return files as string[];
  throw new ConfigError(`data.${key} names no file`, {
    code: "data-missing",
    place: placeOf(["data", key]),
    hint: `set data.${key} to a Parquet, JSONL, JSON or CSV file, or to a list of them`,
  });
}

/** Throws unless there is exactly one reward, and an environment hook where genenv is enabled. */
export function assertHooks(
  genenv: GenenvConfig,
  agent: Tree,
  given: readonly HookRole[],
  placeOf: PlaceOf,
): void {
  const reward = genenv.hooks.reward !== null || given.includes("reward");
  const pythonPath = ["reward", "custom_reward_function", "path"];
  const python = Boolean(getAt(agent, pythonPath));
  if (reward && python) {
    throw new ConfigError("there are two rewards: a TypeScript one and a Python one", {
      code: "hook-conflict",
      place: placeOf(pythonPath),
      hint: "take out genenv.hooks.reward or reward.custom_reward_function.path",
    });
  }
  if (!reward && !python) throw missingHook("reward", placeOf);
  const environment = genenv.hooks.environment !== null || given.includes("environment");
  if (genenv.enable && !environment) throw missingHook("environment", placeOf);
}

function missingHook(role: HookRole, placeOf: PlaceOf): ConfigError {
  const plain = role === "environment" ? ", or genenv.enable=False to train the agent alone" : "";
  return new ConfigError(`no ${role} hook is given`, {
    code: "hook-unset",
    place: placeOf(["genenv", "hooks", role]),
    hint: `set genenv.hooks.${role} to a file such as ./${role}.ts${plain}`,
  });
}
