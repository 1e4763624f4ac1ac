import type { z } from "zod";
import {
  type CurriculumHook,
  type Decision,
  type EnvironmentHook,
  HOOK_BRAND,
  type Message,
  type ParseReturn,
  type PromptInput,
  type RewardColumn,
  type RewardHook,
  type RewardInput,
  type RewardReturn,
  type Seed,
  type SelectInput,
  type TaskBase,
} from "../bridge/hooks/types.js";

export interface RewardDefinition<Schema extends z.core.$ZodType, Uses extends RewardColumn> {
  /** Shown in errors and reports. */
  name: string;
  /** What a row's ground truth has to be; `score` gets it parsed. */
  groundTruth: Schema;
  /** Columns to be sent besides the response and its ground truth. Default: none. */
  uses?: readonly Uses[];
  /** Samples under way at once, for an async `score`. Default: `genenv.hooks.concurrency`. */
  concurrency?: number;
  /**
   * The answer in a response, as a text that is the same for equal answers; null where it has none. Only
   * `genenv.labels: majority` asks: the most frequent answer becomes the task's ground truth.
   */
  extract?(response: string): string | null;
  /** The reward of one response: a finite number, `score(...)`, `abstain(reason)`, or a grader's result. */
  score(input: RewardInput<z.output<Schema>, Uses>): RewardReturn | Promise<RewardReturn>;
}

/** A reward hook: what a response to a task is worth. It sees the response, never the prompt. */
export function defineReward<
  Schema extends z.core.$ZodType,
  const Uses extends RewardColumn = never,
>(definition: RewardDefinition<Schema, Uses>): RewardHook<Schema, Uses> {
  assertName(definition.name, "defineReward");
  assertSchema(definition, "groundTruth", "defineReward");
  const { extract } = definition;
  return {
    [HOOK_BRAND]: "reward",
    name: definition.name,
    groundTruth: definition.groundTruth,
    uses: [...new Set(definition.uses ?? [])],
    concurrency: definition.concurrency ?? null,
    score: (input) => definition.score(input),
    ...(extract && { extract: (response: string) => extract.call(definition, response) }),
  };
}

export interface EnvironmentDefinition<Schema extends z.core.$ZodType<TaskBase>> {
  name: string;
  /** A task: `prompt`, `groundTruth`, and whatever else it needs. */
  task: Schema;
  /** The messages that ask the environment model for tasks, from seeds and their success rates. */
  prompt(input: PromptInput<z.output<Schema>>): Message[] | Promise<Message[]>;
  /** The tasks in an answer, each `accept(task)` or `reject(reason)`; [] is reject("no-task"). */
  parse(input: {
    answer: string;
    seeds: Seed<z.output<Schema>>[];
  }): ParseReturn<Schema> | Promise<ParseReturn<Schema>>;
  /** The messages the agent gets for a task. Default: the task's own prompt. */
  agentPrompt?(task: z.output<Schema>): Message[] | Promise<Message[]>;
}

/** An environment hook: how the environment model is asked for tasks, and how its answers are read. */
export function defineEnvironment<Schema extends z.core.$ZodType<TaskBase>>(
  definition: EnvironmentDefinition<Schema>,
): EnvironmentHook<Schema> {
  assertName(definition.name, "defineEnvironment");
  assertSchema(definition, "task", "defineEnvironment");
  const { agentPrompt } = definition;
  return {
    [HOOK_BRAND]: "environment",
    name: definition.name,
    task: definition.task,
    prompt: (input) => definition.prompt(input),
    parse: (input) => definition.parse(input),
    ...(agentPrompt && {
      agentPrompt: (task: z.output<Schema>) => agentPrompt.call(definition, task),
    }),
  };
}

export interface CurriculumDefinition {
  name: string;
  /** A decision for each task, in any order: whether it joins the pool, and how likely it is drawn. */
  select(input: SelectInput): Decision[] | Promise<Decision[]>;
}

/** A curriculum hook: which tried tasks join the pool, and with which weight. */
export function defineCurriculum(definition: CurriculumDefinition): CurriculumHook {
  assertName(definition.name, "defineCurriculum");
  return {
    [HOOK_BRAND]: "curriculum",
    name: definition.name,
    select: (input) => definition.select(input),
  };
}

function assertName(name: unknown, maker: string): void {
  if (typeof name === "string" && name.trim() !== "") return;
  throw new TypeError(`${maker} needs a name, and got ${JSON.stringify(name)}`);
}

function assertSchema<Key extends string>(
  definition: { name: string } & Record<Key, unknown>,
  key: Key,
  maker: string,
): void {
  const value = definition[key];
  if (typeof value === "object" && value !== null && "_zod" in value) return;
  const seen = typeof value === "object" && value !== null ? "something else" : String(value);
  throw new TypeError(
    `${maker} "${definition.name}" needs a schema of zod 4 as its ${key}, and got ${seen}`,
  );
}
