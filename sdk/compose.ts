/** Rewards made of rewards. Each part is named, and its value reported as a metric under that name. */
import { z } from "zod";
import { graderReward } from "../bridge/hooks/load.js";
import { parseTruth } from "../bridge/hooks/op-score.js";
import { toRewardResult } from "../bridge/hooks/result.js";
import {
  type Abstain,
  abstain,
  type Grader,
  HOOK_BRAND,
  isRewardHook,
  type RewardColumn,
  type RewardHook,
  type Score,
  score,
} from "../bridge/hooks/types.js";

/** A part of a composed reward: a reward hook, or a grader such as `math`. */
export type RewardPart = RewardHook | Grader;
export type RewardParts = Record<string, RewardPart>;

type Composed = RewardHook<z.ZodUnknown>;
type Input = Parameters<Composed["score"]>[0];
type Outcome = { name: string; result: Score | Abstain };

/**
 * The weighted sum of its parts: `weighted({ correct: 1, format: 0.1 }, { correct: math, format })`.
 * It is a success where every part that says so is one. A part that abstains makes the whole abstain.
 */
export function weighted<Parts extends RewardParts>(
  weights: { readonly [Name in keyof Parts]: number },
  parts: Parts,
): Composed {
  for (const [name, weight] of Object.entries<number>(weights)) {
    if (!(name in parts))
      throw new TypeError(`weighted has a weight for "${name}", which is no part`);
    if (!Number.isFinite(weight))
      throw new TypeError(`weighted: the weight of "${name}" is ${weight}`);
  }
  return compose("weighted", parts, async (input, run) => {
    const outcomes = await Promise.all(Object.keys(parts).map((name) => run(name, input)));
    return together(outcomes, (scores) =>
      scores.reduce((sum, { name, result }) => sum + (weights[name] ?? 0) * result.value, 0),
    );
  });
}

/** The least of its parts, so that all have to be good. A part that abstains makes the whole abstain. */
export function allOf(parts: RewardParts): Composed {
  return compose("allOf", parts, async (input, run) => {
    const outcomes = await Promise.all(Object.keys(parts).map((name) => run(name, input)));
    return together(outcomes, (scores) => Math.min(...scores.map(({ result }) => result.value)));
  });
}

/** The first of its parts that doesn't abstain; the later ones are not asked. Abstains where all do. */
export function firstOf(parts: RewardParts): Composed {
  return compose("firstOf", parts, async (input, run) => {
    const reasons: string[] = [];
    for (const name of Object.keys(parts)) {
      const { result } = await run(name, input);
      if (result.kind === "score") return { ...result, metrics: metricsOf([{ name, result }]) };
      reasons.push(`${name}: ${result.reason}`);
    }
    return abstain(reasons.join("; "));
  });
}

/**
 * The part, abstaining where it takes longer: `firstOf({ judge: withTimeout(judge, 2000), rule })`.
 * Its signal is aborted then. A synchronous loop can't be cut short; the sample's own deadline ends it.
 */
export function withTimeout(part: RewardPart, timeoutMs: number): RewardHook {
  const hook = asReward(part);
  return {
    ...hook,
    [HOOK_BRAND]: "reward",
    score: async (input) => {
      const deadline = AbortSignal.timeout(timeoutMs);
      const signal = AbortSignal.any([input.signal, deadline]);
      const late = new Promise<Abstain>((resolve) => {
        const reason = `${hook.name} took more than ${timeoutMs} ms`;
        deadline.addEventListener("abort", () => resolve(abstain(reason)), { once: true });
      });
      return Promise.race([hook.score({ ...input, signal }), late]);
    },
  };
}

type RunPart = (name: string, input: Input) => Promise<Outcome>;

function compose(
  kind: string,
  parts: RewardParts,
  combine: (input: Input, run: RunPart) => Promise<Score | Abstain>,
): Composed {
  const hooks = new Map(Object.entries(parts).map(([name, part]) => [name, asReward(part)]));
  if (hooks.size === 0) throw new TypeError(`${kind} needs at least one part`);
  const limits = [...hooks.values()].map((hook) => hook.concurrency ?? Infinity);
  const concurrency = Math.min(...limits);
  return {
    [HOOK_BRAND]: "reward",
    name: `${kind}(${[...hooks.keys()].join(", ")})`,
    // Each part reads the ground truth by its own schema.
    groundTruth: z.unknown(),
    uses: [...new Set([...hooks.values()].flatMap((hook): RewardColumn[] => [...hook.uses]))],
    concurrency: Number.isFinite(concurrency) ? concurrency : null,
    score: (input) => combine(input, (name, given) => runPart(name, hooks.get(name), given)),
  };
}

async function runPart(name: string, hook: RewardHook | undefined, input: Input): Promise<Outcome> {
  if (hook === undefined) throw new TypeError(`there is no part "${name}"`);
  const truth = parseTruth(hook, input.groundTruth);
  if (!truth.success)
    throw new TypeError(`part "${name}" can't read the ground truth: ${truth.reason}`);
  const returned = await hook.score({ ...input, groundTruth: truth.data });
  const where = { hook: `part "${name}"`, sample: 0, taskId: input.taskId };
  const result = toRewardResult(returned, where);
  if (typeof result === "number") return { name, result: score(result) };
  if (result.kind === "failed") throw new TypeError(result.reason);
  return { name, result };
}

type Scored = { name: string; result: Score };

function together(outcomes: Outcome[], value: (scores: Scored[]) => number): Score | Abstain {
  const scores: Scored[] = [];
  for (const { name, result } of outcomes) {
    if (result.kind === "abstain") return abstain(`${name}: ${result.reason}`);
    scores.push({ name, result });
  }
  const said = scores.map(({ result }) => result.success).filter((success) => success !== null);
  const success = said.length === 0 ? null : said.every(Boolean);
  return score(value(scores), { success, metrics: metricsOf(scores) });
}

/** A part's value under its name, and its own metrics under name/metric. */
function metricsOf(scores: Scored[]): Record<string, number> {
  return Object.fromEntries(
    scores.flatMap(({ name, result }) => [
      [name, result.value] as const,
      ...Object.entries(result.metrics).map(
        ([metric, value]) => [`${name}/${metric}`, value] as const,
      ),
    ]),
  );
}

function asReward(part: RewardPart): RewardHook {
  return isRewardHook(part) ? part : graderReward(part);
}
