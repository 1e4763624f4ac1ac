/** Imports hook modules and picks the hooks out of them. */
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { HookError } from "../errors.js";
import type { ImportRef, ModuleSet } from "./messages.js";
import type { Algorithms, Hooks } from "./ops.js";
import { showValue, stackOf } from "./result.js";
import {
  type CurriculumHook,
  type EnvironmentHook,
  type Grader,
  HOOK_BRAND,
  type HookKind,
  hookKind,
  type RewardColumn,
  type RewardHook,
} from "./types.js";

/** What the training loop has to know about the hooks of a run. */
export type HookInfo = {
  reward: string | null;
  uses: RewardColumn[];
  rewardConcurrency: number | null;
  canExtract: boolean;
  environment: string | null;
  hasAgentPrompt: boolean;
  curriculum: string | null;
};

export function describeHooks(hooks: Hooks): HookInfo {
  return {
    reward: hooks.reward?.name ?? null,
    uses: [...(hooks.reward?.uses ?? [])],
    rewardConcurrency: hooks.reward?.concurrency ?? null,
    canExtract: hooks.reward?.extract !== undefined,
    environment: hooks.environment?.name ?? null,
    hasAgentPrompt: hooks.environment?.agentPrompt !== undefined,
    curriculum: hooks.curriculum?.name ?? null,
  };
}

export async function importHooks(modules: ModuleSet): Promise<Hooks> {
  const { reward, environment, curriculum, algorithms } = modules;
  return {
    reward: reward && ((await importHook(reward, "reward")) as RewardHook),
    environment: environment && ((await importHook(environment, "environment")) as EnvironmentHook),
    curriculum: curriculum && ((await importHook(curriculum, "curriculum")) as CurriculumHook),
    algorithms: algorithms && ((await importExport(algorithms)) as Algorithms),
  };
}

export async function importHook(
  ref: ImportRef,
  kind: HookKind,
): Promise<RewardHook | EnvironmentHook | CurriculumHook> {
  return asHook(await importExport(ref), kind, place(ref));
}

/** The hook in a value: a hook of that kind, or a grader function where a reward is wanted. */
export function asHook(
  value: unknown,
  kind: HookKind,
  where: string,
): RewardHook | EnvironmentHook | CurriculumHook {
  const found = hookKind(value);
  if (found === kind) return value as RewardHook | EnvironmentHook | CurriculumHook;
  if (kind === "reward" && typeof value === "function") return graderReward(value as Grader);
  const seen = found === null ? showValue(value) : hookPhrase(found);
  throw new HookError(`${where} is ${seen}, not ${hookPhrase(kind)}`, {
    code: "hook-export",
    hint: `export default ${DEFINE[kind]}({ ... }), or name another export as ./file.ts#name`,
  });
}

const DEFINE = {
  reward: "defineReward",
  environment: "defineEnvironment",
  curriculum: "defineCurriculum",
} as const;

function hookPhrase(kind: HookKind): string {
  return kind === "environment" ? "an environment hook" : `a ${kind} hook`;
}

/** A grader as a reward: any ground truth, no options. */
export function graderReward(grader: Grader): RewardHook {
  return {
    [HOOK_BRAND]: "reward",
    name: grader.name || "grader",
    groundTruth: z.unknown(),
    uses: [],
    concurrency: null,
    score: ({ response, groundTruth }) => grader({ response, groundTruth: groundTruth as never }),
  };
}

function place(ref: ImportRef): string {
  return `export "${ref.exportName}" of ${ref.source}`;
}

async function importExport(ref: ImportRef): Promise<unknown> {
  const module = await importModule(ref);
  const value = module[ref.exportName];
  if (value !== undefined) return value;
  const names = Object.keys(module);
  throw new HookError(`${ref.source} has no export "${ref.exportName}"`, {
    code: "hook-export",
    hint:
      names.length === 0
        ? "export the hook: export default defineReward({ ... })"
        : `it exports ${names.join(", ")}; name one as ${ref.source}#${names[0]}`,
    place: { file: ref.source },
  });
}

async function importModule(ref: ImportRef): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(ref.file).href)) as Record<string, unknown>;
  } catch (error) {
    throw new HookError(`${ref.source} failed while it was loaded: ${stackOf(error)}`, {
      code: "hook-load",
      hint: "a hook file's own top-level code must run without the trainer; mend the error above",
      place: { file: ref.source },
      cause: error,
    });
  }
}
