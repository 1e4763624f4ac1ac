import { z } from "zod";
import { PythonError } from "../../bridge/errors.js";

const at = { epoch: z.int(), step: z.int() };
const finite = z.record(z.string(), z.number());

const phaseSchema = z.object({
  ...at,
  type: z.literal("phase"),
  phase: z.enum([
    "start",
    "validation",
    "environment-rollout",
    "parse",
    "agent-rollout",
    "reward",
    "agent-update",
    "environment-update",
    "epoch-end",
    "checkpoint",
    "done",
  ]),
  role: z.enum(["agent", "environment"]).nullable(),
  detail: z.string().nullable(),
});

const metricsSchema = z.object({
  ...at,
  type: z.literal("metrics"),
  phase: z.enum(["agent", "environment", "validation"]),
  values: finite,
});

const taskSchema = z.object({
  ...at,
  type: z.literal("task"),
  id: z.string(),
  prompt: z.unknown(),
  groundTruth: z.unknown(),
  /** p̂; null where no response was scored. */
  successRate: z.number().nullable(),
  reward: z.number().nullable(),
  kept: z.boolean(),
  reason: z.string().nullable(),
});

const eventSchema = z.discriminatedUnion("type", [
  phaseSchema,
  metricsSchema,
  taskSchema,
  z.object({ ...at, type: z.literal("checkpoint"), path: z.string() }),
  z.object({ ...at, type: z.literal("warning"), code: z.string(), message: z.string() }),
]);

const resultSchema = z.object({
  epochs: z.int(),
  steps: z.int(),
  checkpoint: z.string().nullable(),
  stopped: z.boolean(),
  metrics: finite,
});

/** What a run tells while it goes on: each has the epoch and the step it belongs to (0 before the first). */
export type RunEvent = z.infer<typeof eventSchema>;
export type RunPhase = z.infer<typeof phaseSchema>["phase"];

/** How a run ended: whole epochs, steps of the agent, the last checkpoint, and the last metrics. */
export type RunResult = z.infer<typeof resultSchema>;

/** An event as Python sent it; throws PythonError where it is none. */
export function parseEvent(value: unknown): RunEvent {
  return parse(eventSchema, value, "event");
}

export function parseResult(value: unknown): RunResult {
  return parse(resultSchema, value, "result");
}

function parse<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const text = JSON.stringify(value)?.slice(0, 200);
  throw new PythonError(
    `the training loop sent no ${what}: ${text} (${parsed.error.issues[0]?.message})`,
    {
      code: "bad-message",
      hint: "this is a defect in genenv; please report it",
      cause: parsed.error,
    },
  );
}
