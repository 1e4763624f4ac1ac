import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { ConfigError } from "../../bridge/errors.js";
import type { HookModules, ModuleRef } from "../../bridge/hooks/host.js";
import type {
  CurriculumHook,
  EnvironmentHook,
  Grader,
  Hook,
  RewardHook,
} from "../../bridge/hooks/types.js";
import type { ResolvedConfig } from "../config/resolve.js";

/** Hooks given as values instead of files: they run in this process. */
export interface GivenHooks {
  reward?: RewardHook;
  environment?: EnvironmentHook;
  curriculum?: CurriculumHook;
}

/** The hooks of a run: a given one wins over the configuration's. */
export function toHookModules(config: ResolvedConfig, given: GivenHooks = {}): HookModules {
  const { hooks, enable } = config.genenv;
  const environment =
    valueModule(given.environment) ?? fileModule(hooks.environment, "environment");
  return {
    reward: valueModule(given.reward) ?? fileModule(hooks.reward, "reward"),
    environment: enable ? environment : null,
    curriculum:
      valueModule(given.curriculum) ??
      fileModule(hooks.curriculum, "curriculum") ??
      ownModule("../curriculum/algorithms", "paper"),
    algorithms: ownModule("../curriculum/algorithms", "algorithms"),
  };
}

/** The user's own hook files, absolute. */
export function hookFiles({ genenv, projectDir }: ResolvedConfig): string[] {
  const { reward, environment, curriculum } = genenv.hooks;
  return [reward, genenv.enable ? environment : null, curriculum].flatMap((spec) =>
    spec === null || spec.startsWith("builtin:")
      ? []
      : [resolve(projectDir, spec.split("#")[0] ?? "")],
  );
}

/** A reward as an evaluation takes it: a file, builtin:NAME, or a value of this process. */
export function rewardModule(reward: string | RewardHook | Grader): ModuleRef {
  if (typeof reward !== "string") return { kind: "value", hook: reward };
  return fileModule(reward, "reward") as ModuleRef;
}

const valueModule = (hook: Hook | undefined): ModuleRef | null =>
  hook ? { kind: "value", hook } : null;

function fileModule(spec: string | null, role: string): ModuleRef | null {
  if (spec === null) return null;
  if (spec.startsWith("builtin:")) return builtinModule(spec, role);
  const [path = "", exportName = "default"] = spec.split("#");
  return { kind: "file", path, exportName };
}

const builtins: Record<string, { module: string; names: readonly string[] }> = {
  reward: {
    module: "../graders/index",
    names: [
      "math",
      "toolCalls",
      "webActions",
      "exact",
      "numeric",
      "regex",
      "jsonSchema",
      "contains",
      "f1",
    ],
  },
  curriculum: { module: "../curriculum/algorithms", names: ["paper"] },
};

function builtinModule(spec: string, role: string): ModuleRef {
  const name = spec.slice("builtin:".length);
  const known = builtins[role];
  if (known?.names.includes(name)) return ownModule(known.module, name);
  throw new ConfigError(`there is no built-in ${role} ${JSON.stringify(name)}`, {
    code: "unknown-hook",
    place: { at: `genenv.hooks.${role}` },
    hint: known ? `the built-in ones are ${known.names.join(", ")}` : "give a file",
  });
}

/** A module of this package: built, or its source where that is what runs. */
function ownModule(path: string, exportName: string): ModuleRef {
  const built = fileURLToPath(new URL(`${path}.js`, import.meta.url));
  return {
    kind: "file",
    path: existsSync(built) ? built : built.replace(/\.js$/, ".ts"),
    exportName,
  };
}
