import { z } from "zod";
import { PythonError } from "../../bridge/errors.js";

const sampleSchema = z.object({
  type: z.literal("sample"),
  prompt: z.int(),
  sample: z.int(),
  text: z.string(),
  finishReason: z.enum(["stop", "length"]),
  promptTokens: z.int(),
  responseTokens: z.int(),
});

/** A finished sample, in the order in which samples finish. */
export type Generated = Omit<z.infer<typeof sampleSchema>, "type">;

const statusSchema = z.object({
  maxModelTokens: z.int(),
  running: z.int(),
  samples: z.int(),
  responseTokens: z.int(),
  upSeconds: z.number(),
});

/** `running` samples are under way; `samples` and `responseTokens` count what the session has finished. */
export type SessionStatus = z.infer<typeof statusSchema>;

const openedSchema = statusSchema.extend({ pid: z.int(), device: z.string(), seconds: z.number() });
export type Opened = z.infer<typeof openedSchema>;

export function parseSample(value: unknown): Generated {
  const { type: _, ...sample } = parse(sampleSchema, value, "sample");
  return sample;
}

export const parseStatus = (value: unknown): SessionStatus => parse(statusSchema, value, "status");

export const parseOpened = (value: unknown): Opened => parse(openedSchema, value, "session");

export function parseTokens(value: unknown): number[][] {
  return parse(z.object({ tokens: z.array(z.array(z.int())) }), value, "tokens").tokens;
}

function parse<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const text = JSON.stringify(value)?.slice(0, 200);
  throw new PythonError(
    `the engine sent no ${what}: ${text} (${parsed.error.issues[0]?.message})`,
    {
      code: "bad-message",
      hint: "this is a defect in genenv; please report it",
      cause: parsed.error,
    },
  );
}
