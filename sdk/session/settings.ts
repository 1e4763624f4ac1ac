import { z } from "zod";
import { ConfigError } from "../../bridge/errors.js";

const samplingSchema = z.strictObject({
  /** 0 takes the likeliest token each time. */
  temperature: z.number().min(0).default(1),
  topP: z.number().gt(0).max(1).default(1),
  /** -1 takes all tokens. */
  topK: z
    .int()
    .refine((value) => value === -1 || value > 0, "is -1 (all tokens) or more than 0")
    .default(-1),
  /** Tokens of a response. */
  maxTokens: z.int().positive().default(512),
  /** Equal seeds give equal samples from the same engine; each sample of each prompt gets a seed of its own. */
  seed: z.int().min(0).nullable().default(null),
  /** Texts that end a response. */
  stop: z.array(z.string().min(1)).default([]),
});

const sessionSchema = z.strictObject({
  /** A folder, builtin:NAME, a hub id, or a run (its last checkpoint's agent). */
  model: z.string().min(1),
  device: z.enum(["auto", "cpu", "cuda"]).default("auto"),
  /** float32, bfloat16, ...; default: the model's own, or on a CPU what its processor is good at. */
  dtype: z.string().nullable().default(null),
  /** Prompt and response together; default: what the model was made for. */
  maxModelTokens: z.int().positive().nullable().default(null),
  /** Memory of a CPU's KV cache. */
  kvCacheGib: z.int().positive().default(1),
  /** vLLM's own engine arguments, under its names; they win over all else. */
  engine: z.record(z.string(), z.unknown()).default({}),
  /** What calls that don't say it sample with. */
  sampling: samplingSchema.prefault({}),
});

export type SamplingInput = z.input<typeof samplingSchema>;
export type Sampling = z.infer<typeof samplingSchema>;
export type SessionConfig = z.input<typeof sessionSchema>;
export type SessionSettings = z.infer<typeof sessionSchema>;

export function parseSessionConfig(config: unknown): SessionSettings {
  return parse(sessionSchema, config, "the session's configuration");
}

/** What a call samples with: its own word, else the session's. */
export function toSampling(
  given: unknown = {},
  base: Sampling = samplingSchema.parse({}),
): Sampling {
  const own = typeof given === "object" && given !== null ? given : { given };
  return parse(samplingSchema, { ...base, ...own }, "sampling");
}

/** How many samples a prompt gets. */
export function toSampleCount(n: unknown = 1): number {
  return parse(z.int().positive(), n, "n");
}

function parse<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const at = issue?.path.join(".");
  const seen = at ? valueAt(value, issue?.path ?? []) : value;
  throw new ConfigError(`${at || what}: ${issue?.message} (got ${JSON.stringify(seen)})`, {
    code: "bad-value",
    place: { at: what },
    hint: "docs/evaluation.md lists what it takes",
    cause: parsed.error,
  });
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown>)?.[key], value);
}
