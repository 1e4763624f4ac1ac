/**
 * The shapes of the three hooks a user writes, and of what they return.
 *
 * Everything here is data plus tiny constructors: the host process, the in-process runner and the public
 * `define*` functions all build on it. Hooks carry a brand from `Symbol.for`, so that a hook made by one copy of
 * the package (say the CommonJS one) is known to another.
 */
import type { z } from "zod";

export type Role = "agent" | "environment";

export type Message = { role: "system" | "user" | "assistant" | "tool"; content: string };

/** What every task has. `groundTruth` is null where `genenv.labels` decides what is right. */
export type TaskBase = { prompt: string | Message[]; groundTruth: unknown };

/** A scored response. `success` null leaves the decision to `genenv.success_threshold`. */
export type Score = {
  kind: "score";
  value: number;
  success: boolean | null;
  metrics: Record<string, number>;
};

/** A response left out of the success rate and of its group's statistics, by the hook's own choice. */
export type Abstain = { kind: "abstain"; reason: string };

export type FailureCode = "timeout" | "out-of-memory" | "crashed" | "threw" | "bad-result";

/** A hook that gave no result. Only the host makes these. */
export type Failed = { kind: "failed"; code: FailureCode; reason: string };

export type RewardResult = Score | Abstain | Failed;

/** What the built-in graders return; accepted wherever a reward's result is. */
export type Graded = { score: number; extracted: unknown; reason: string };

/** Anything a reward may return for one sample. */
export type RewardReturn = number | Score | Abstain | Graded;

/** The columns a reward gets only when it names them in `uses`; the others are never sent. */
export type RewardColumns = {
  /** The messages the agent was given. */
  messages: Message[];
  /** The row's `data_source`; null where the data has none. */
  dataSource: string | null;
  /** The task's other fields. */
  extra: Record<string, unknown>;
};
export type RewardColumn = keyof RewardColumns;

/** One sample, as a reward sees it: the response alone, never the prompt, unless `uses` asks for it. */
export type RewardInput<GroundTruth, Uses extends RewardColumn = never> = {
  response: string;
  groundTruth: GroundTruth;
  taskId: string;
  /** Aborted at the sample's deadline; pass it to fetch and friends. */
  signal: AbortSignal;
} & Pick<RewardColumns, Uses>;

export const HOOK_BRAND: unique symbol = Symbol.for("genenv.hook");

export type HookKind = "reward" | "environment" | "curriculum";

export interface RewardHook<
  Schema extends z.core.$ZodType = z.core.$ZodType,
  Uses extends RewardColumn = RewardColumn,
> {
  readonly [HOOK_BRAND]: "reward";
  readonly name: string;
  readonly groundTruth: Schema;
  readonly uses: readonly Uses[];
  /** Samples an async hook may have under way at once; null takes `genenv.hooks.concurrency`. */
  readonly concurrency: number | null;
  /** The answer in a response, which a vote for a label counts (`genenv.labels: majority`); null: it has none. */
  extract?(response: string): string | null;
  score(input: RewardInput<z.output<Schema>, Uses>): RewardReturn | Promise<RewardReturn>;
}

/** A task shown to the environment model as an example, with the agent's success rate (null: never tried). */
export type Seed<Task> = { id: string; task: Task; successRate: number | null };

export type Accept<Task> = { kind: "accept"; task: Task };
export type Reject = { kind: "reject"; reason: string };

export type PromptInput<Task> = {
  seeds: Seed<Task>[];
  epoch: number;
  /** The success rate that tasks should be written for (alpha in the paper). */
  targetSuccess: number;
  /** A seeded draw from [0, 1), the same in every run with the same seed. */
  random: () => number;
};

export interface EnvironmentHook<
  Schema extends z.core.$ZodType<TaskBase> = z.core.$ZodType<TaskBase>,
> {
  readonly [HOOK_BRAND]: "environment";
  readonly name: string;
  readonly task: Schema;
  prompt(input: PromptInput<z.output<Schema>>): Message[] | Promise<Message[]>;
  /** Turns the environment model's answer into tasks; [] counts as reject("no-task"). */
  parse(input: {
    answer: string;
    seeds: Seed<z.output<Schema>>[];
  }): ParseReturn<Schema> | Promise<ParseReturn<Schema>>;
  /** The messages the agent gets; by default the task's own prompt. */
  agentPrompt?(task: z.output<Schema>): Message[] | Promise<Message[]>;
}
export type ParseReturn<Schema extends z.core.$ZodType<TaskBase>> = (
  | Accept<z.input<Schema>>
  | Reject
)[];

/** A tried task, as the curriculum sees it. */
export type TriedTask = {
  id: string;
  prompt: string | Message[];
  groundTruth: unknown;
  successRate: number | null;
  /** The environment reward of the task (the paper's alpha-reward); null where the success rate is. */
  reward: number | null;
};

export type FilteringMode = "band" | "quantile";

export type SelectInput = {
  tasks: TriedTask[];
  targetSuccess: number;
  filteringK: number;
  filteringMode: FilteringMode;
  epoch: number;
};

/** Whether a task joins the pool, and with which sampling weight (finite, not negative). */
export type Decision = { id: string; keep: boolean; weight: number; reason: string };

export interface CurriculumHook {
  readonly [HOOK_BRAND]: "curriculum";
  readonly name: string;
  select(input: SelectInput): Decision[] | Promise<Decision[]>;
}

export type Hook = RewardHook | EnvironmentHook | CurriculumHook;

export function score(
  value: number,
  parts: { success?: boolean | null; metrics?: Record<string, number> } = {},
): Score {
  return { kind: "score", value, success: parts.success ?? null, metrics: parts.metrics ?? {} };
}

export function abstain(reason: string): Abstain {
  return { kind: "abstain", reason };
}

export function accept<Task>(task: Task): Accept<Task> {
  return { kind: "accept", task };
}

export function reject(reason: string): Reject {
  return { kind: "reject", reason };
}

/** The kind of hook that a value is, or null where it is none. */
export function hookKind(value: unknown): HookKind | null {
  if (typeof value !== "object" || value === null) return null;
  const brand: unknown = (value as Record<symbol, unknown>)[HOOK_BRAND];
  return brand === "reward" || brand === "environment" || brand === "curriculum" ? brand : null;
}

export function isRewardHook(value: unknown): value is RewardHook {
  return hookKind(value) === "reward";
}

export function isEnvironmentHook(value: unknown): value is EnvironmentHook {
  return hookKind(value) === "environment";
}

export function isCurriculumHook(value: unknown): value is CurriculumHook {
  return hookKind(value) === "curriculum";
}

/** A grader: a plain function from a response and its ground truth to a graded result; a reward by itself. */
export type Grader = (input: { response: string; groundTruth: never }, options?: never) => Graded;
