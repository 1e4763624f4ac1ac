import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { ConfigError, type ErrorPlace } from "../../bridge/errors.js";
import { packageRoot } from "../../bridge/python/paths.js";
import { type Assignment, parseKey, parseOverride } from "./assignment.js";
import { assertVerlKeys } from "./check-keys.js";
import { toEnvironmentOverlay } from "./environment-overlay.js";
import { parseGenenvSection } from "./genenv-section.js";
import { verlDefault } from "./keys.js";
import { layAssignments } from "./layers.js";
import { agentModelOf, assertHooks, dataFilesOf, envModelOf, type HookRole } from "./parts.js";
import { chooseRunFolder, type RunFolder } from "./run-folder.js";
import type { ConfigInput, GenenvConfig } from "./schema.js";
import { getAt, type Tree, withAt } from "./tree.js";
import { verlBase } from "./verl-rules.js";
import { readYamlFile } from "./yaml-file.js";

export interface ConfigRequest {
  /** A YAML file, a configuration as an object, or null for the default run. */
  config?: string | ConfigInput | null;
  /** `key=value`, `+key=value`, `++key=value`, `~key`, as Hydra has them. */
  overrides?: readonly string[];
  /** actor_rollout_ref.model.path, as --model gives it. */
  model?: string | null;
  /** env_model_path, as --env-model gives it. */
  envModel?: string | null;
  /** The run's name; the default is trainer.experiment_name, else the date and time. */
  name?: string | null;
  /** Relative paths and runs/ start here. Default: the process's folder. */
  cwd?: string;
  /** Hooks that are given as values, so that the configuration need not name them. */
  hooksGiven?: readonly HookRole[];
  /** The clock, for a run without a name. */
  now?: Date;
}

/** A checked configuration: all defaults filled in, all paths absolute. */
export interface ResolvedConfig extends RunFolder {
  projectDir: string;
  genenv: GenenvConfig;
  /** Nested veRL keys of each role; the environment's are the agent's with genenv.env laid over them. */
  verl: { agent: Tree; environment: Tree; added: string[]; deleted: string[] };
  /** A folder, a hub id or builtin:NAME. */
  agentModel: string;
  /** The same, or "agent" for one model in both roles; null where genenv.enable is false. */
  envModelPath: string | null;
  dataFiles: { train: string[]; validation: string[] };
  /** Where a key was written; null for a default. */
  placeOf(path: readonly string[]): ErrorPlace | null;
}

/** A configuration read and checked as `train` does, without running it. */
export function loadConfig(
  config: string | ConfigInput | null = null,
  request: Omit<ConfigRequest, "config"> = {},
): ResolvedConfig {
  return resolveConfig({ ...request, config });
}

/** Reads, lays together and checks a configuration. Throws ConfigError; writes nothing. */
export function resolveConfig(request: ConfigRequest = {}): ResolvedConfig {
  const cwd = resolve(request.cwd ?? process.cwd());
  const layered = layAssignments(verlBase, assignmentsOf(request, cwd));
  const { added, deleted, placeOf } = layered;
  const { genenv: section, env_model_path: envModel, ...agent } = layered.tree;
  const genenv = parseGenenvSection(section, placeOf);
  assertVerlKeys({ role: "agent", prefix: [], tree: agent, added }, placeOf);
  const prefix = ["genenv", "env"];
  assertVerlKeys({ role: "environment", prefix, tree: genenv.env, added }, placeOf);
  assertHooks(genenv, agent, request.hooksGiven ?? [], placeOf);
  const agentModel = agentModelOf(agent, placeOf);
  const dataFiles = dataFilesOf(agent, placeOf);
  const now = request.now ?? new Date();
  const folder = chooseRunFolder(agent, { name: request.name ?? null, cwd, now });
  const named = withRunFolder(agent, folder);
  return {
    ...folder,
    projectDir: cwd,
    genenv,
    verl: { agent: named, environment: environmentOf(named, genenv), added, deleted },
    agentModel,
    envModelPath: envModelOf(envModel, agentModel, genenv, placeOf),
    dataFiles,
    placeOf,
  };
}

function withRunFolder(agent: Tree, { name, runDir }: RunFolder): Tree {
  return withAt(agent, ["trainer"], { experiment_name: name, default_local_dir: runDir });
}

function environmentOf(agent: Tree, genenv: GenenvConfig): Tree {
  const batch = getAt(agent, ["data", "train_batch_size"]) ?? verlDefault("data.train_batch_size");
  return toEnvironmentOverlay(agent, genenv, Number(batch));
}

/** The configuration file of a run without one: the project's own, else the one that comes along. */
export function defaultConfigFile(cwd: string): { file: string; baseDir: string } {
  const own = join(cwd, "configs", "genenv_config.yaml");
  if (existsSync(own)) return { file: own, baseDir: cwd };
  const root = packageRoot();
  return { file: join(root, "configs", "genenv_config.yaml"), baseDir: root };
}

function assignmentsOf(request: ConfigRequest, cwd: string): Assignment[] {
  return [
    ...sourceOf(request.config ?? null, cwd),
    ...flagOf("--model", "actor_rollout_ref.model.path", request.model, cwd),
    ...flagOf("--env-model", "env_model_path", request.envModel, cwd),
    ...(request.overrides ?? []).map((text) => parseOverride(text, cwd)),
  ];
}

function flagOf(
  flag: string,
  key: string,
  value: string | null | undefined,
  baseDir: string,
): Assignment[] {
  if (value === undefined || value === null) return [];
  const placeOf = (): ErrorPlace => ({ at: flag });
  return [{ operation: "set", path: key.split("."), value, baseDir, placeOf }];
}

function sourceOf(config: string | ConfigInput | null, cwd: string): Assignment[] {
  if (config === null) {
    const { file, baseDir } = defaultConfigFile(cwd);
    return readYamlFile(file, baseDir);
  }
  if (typeof config === "string") return readYamlFile(resolve(cwd, config), cwd);
  return Object.entries(config).map(([text, value]): Assignment => {
    const key = parseKey(text);
    const place = { at: text };
    if (!key) {
      throw new ConfigError(`${JSON.stringify(text)} is not a key`, { code: "unknown-key", place });
    }
    const placeOf = (below: readonly string[]): ErrorPlace => ({ at: [text, ...below].join(".") });
    return { ...key, value, baseDir: cwd, placeOf };
  });
}
