import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import type {
  EnvironmentHook,
  Grader,
  RewardColumn,
  RewardHook,
} from "../../bridge/hooks/types.js";
import { accept, HOOK_BRAND, hookKind, reject } from "../../bridge/hooks/types.js";

function reward<S extends z.ZodType, const U extends RewardColumn = never>(
  spec: Pick<RewardHook<S, U>, "score" | "groundTruth"> & { uses?: readonly U[] },
): RewardHook<S, U> {
  return { [HOOK_BRAND]: "reward", name: "r", concurrency: null, ...spec, uses: spec.uses ?? [] };
}

test("a reward's ground truth has the type of its schema", () => {
  const hook = reward({
    groundTruth: z.object({ answer: z.string() }),
    score: ({ groundTruth, response }) => {
      expectTypeOf(groundTruth).toEqualTypeOf<{ answer: string }>();
      return response === groundTruth.answer ? 1 : 0;
    },
  });
  expectTypeOf(hook).toExtend<RewardHook>();
});

test("a reward gets the columns it names and no other", () => {
  reward({
    groundTruth: z.string(),
    uses: ["extra"],
    score: (input) => {
      expectTypeOf(input.extra).toEqualTypeOf<Record<string, unknown>>();
      // @ts-expect-error messages is not among the columns this reward uses
      input.messages;
      return 0;
    },
  });
});

test("an environment hook with its own task type is an environment hook", () => {
  const task = z.object({ prompt: z.string(), groundTruth: z.number(), level: z.int() });
  const hook: EnvironmentHook<typeof task> = {
    [HOOK_BRAND]: "environment",
    name: "e",
    task,
    prompt: ({ seeds }) => [{ role: "user", content: `${seeds[0]?.task.level}` }],
    parse: ({ answer }) => [
      answer === "" ? reject("empty") : accept({ prompt: answer, groundTruth: 1, level: 2 }),
    ],
  };
  expectTypeOf(hook).toExtend<EnvironmentHook>();
});

test("a grader with its own ground truth and options is a grader", () => {
  const grade = (
    _: { response: string; groundTruth: string[] },
    options: { strict?: boolean } = {},
  ) => ({
    score: options.strict ? 0 : 1,
    extracted: null,
    reason: "",
  });
  expectTypeOf(grade).toExtend<Grader>();
});

test("only a branded object is a hook", ({ expect }) => {
  expect(hookKind({ [Symbol.for("genenv.hook")]: "reward" })).toBe("reward");
  expect(hookKind({ [Symbol.for("genenv.hook")]: "other" })).toBeNull();
  expect(hookKind(null)).toBeNull();
});
