import { join } from "node:path";
import { stringify } from "yaml";
import { writeFileAtomic } from "../../bridge/whole-file.js";
import type { ResolvedConfig } from "./resolve.js";
import { getAt, type Tree, withoutAt } from "./tree.js";

/** The resolved configuration as a YAML file has it, with Hydra's + and ~ before keys that need them. */
export function toConfigTree(config: ResolvedConfig): Tree {
  const { added, deleted } = config.verl;
  const plain = added.reduce<Tree>(
    (tree, key) => withoutAt(tree, key.split(".")),
    config.verl.agent,
  );
  const extra = added
    .map((key): [string, unknown] => [`+${key}`, getAt(config.verl.agent, key.split("."))])
    .filter(([, value]) => value !== undefined);
  return {
    env_model_path: config.envModelPath,
    genenv: genenvPart(config),
    ...plain,
    ...Object.fromEntries(extra),
    ...environmentExtra(config),
    ...Object.fromEntries(deleted.map((key) => [`~${key}`, null])),
  };
}

/** The resolved configuration as YAML that resolves to the same run again. */
export function toConfigYaml(config: ResolvedConfig): string {
  const tree = toConfigTree(config);
  return `# The configuration of run ${config.name}, with every default of genenv's own.\n${stringify(tree)}`;
}

function genenvPart(config: ResolvedConfig): Tree {
  const env = config.verl.added.reduce<Tree>(
    (tree, key) => withoutAt(tree, key.split(".")),
    config.genenv.env,
  );
  return { ...config.genenv, env };
}

function environmentExtra(config: ResolvedConfig): Tree {
  const entries = config.verl.added
    .map((key): [string, unknown] => [
      `+genenv.env.${key}`,
      getAt(config.genenv.env, key.split(".")),
    ])
    .filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries);
}

/** Writes runDir/config.yaml. */
export function writeConfig(config: ResolvedConfig): void {
  writeFileAtomic(join(config.runDir, "config.yaml"), toConfigYaml(config));
}
