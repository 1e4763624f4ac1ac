import { z } from "zod";

/** The tools of an assistant, each with a schema of its parameters: prompt, data and checks all come from here. */
export const tools = {
  get_weather: {
    does: "weather of a city",
    parameters: z.strictObject({
      city: z.string().min(1),
      unit: z.enum(["celsius", "fahrenheit"]),
    }),
  },
  convert_currency: {
    does: "convert money",
    parameters: z.strictObject({
      amount: z.number().positive(),
      from: z.string().regex(/^[A-Z]{3}$/),
      to: z.string().regex(/^[A-Z]{3}$/),
    }),
  },
  set_timer: {
    does: "start a timer",
    parameters: z.strictObject({ minutes: z.int().min(1).max(600) }),
  },
  send_message: {
    does: "send a text",
    parameters: z.strictObject({ to: z.string().min(1), text: z.string().min(1) }),
  },
} as const;

export type ToolName = keyof typeof tools;

/** A call as the model writes it. */
export interface Call {
  name: string;
  arguments: Record<string, unknown>;
}

const callSchema = z.object({ name: z.string(), arguments: z.record(z.string(), z.unknown()) });

/** A call in a JSON text that fits its tool's schema, or why there is none. */
export function readCall(text: string): Call | { problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problem: "no-json" };
  }
  const call = callSchema.safeParse(value);
  if (!call.success) return { problem: "no-call" };
  if (!Object.hasOwn(tools, call.data.name)) return { problem: "unknown-tool" };
  const { parameters } = tools[call.data.name as ToolName];
  const parsed = parameters.safeParse(call.data.arguments);
  return parsed.success ? call.data : { problem: "bad-arguments" };
}

/** One line for each tool: name(parameter: type, …): what it does. */
export function describeTools(): string {
  return Object.entries(tools)
    .map(([name, { does, parameters }]) => {
      const shape = Object.entries(parameters.shape as Record<string, z.ZodType>);
      const list = shape.map(([key, type]) => `${key}: ${typeText(type)}`).join(", ");
      return `${name}(${list}): ${does}`;
    })
    .join("\n");
}

function typeText(type: z.ZodType): string {
  const schema = z.toJSONSchema(type) as { type?: string; enum?: string[] };
  return schema.enum ? schema.enum.join("|") : (schema.type ?? "any");
}
