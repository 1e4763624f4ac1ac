import type { Ajv as AjvClass, ValidateFunction } from "ajv";
import type { z } from "zod";
import { unwrapGold } from "./gold.js";
import { loadLibrary } from "./load.js";
import { compilePattern } from "./regex.js";
import { clip, show } from "./show.js";
import { withoutThinking } from "./think.js";
import { type Grade, type GraderInput, right, wrong } from "./types.js";

/** The conventions of the JSON-schema grader. */
export interface JsonSchemaOptions {
  /** A zod schema or a JSON Schema (draft 2020-12 or 7); without one the ground truth is the JSON Schema. */
  schema?: z.ZodType | Record<string, unknown>;
}

const longest = 200_000;
const deepest = 100;
const longestSchema = 100_000;

/**
 * Scores 1 where the response, less its thinking, is JSON that the schema accepts: alone, or in its last code
 * fence. `format` is an annotation, as draft 2020-12 has it; `pattern` runs in linear time (RE2's syntax).
 */
export function jsonSchema(
  { response, groundTruth }: GraderInput,
  options: JsonSchemaOptions = {},
): Grade {
  if (typeof response !== "string") return wrong(null, "the response is not text");
  const text = jsonIn(withoutThinking(response));
  const shown = clip(text);
  if (text.length > longest) return wrong(shown, `the JSON is longer than ${longest} characters`);
  if (isDeep(text)) return wrong(shown, `the JSON is nested deeper than ${deepest} levels`);
  const value = parse(text);
  if (value === undefined)
    return wrong(shown === "" ? null : shown, "the response is not valid JSON");
  const schema = options.schema ?? readSchema(unwrapGold(groundTruth));
  if (schema === null) return wrong(shown, "the ground truth is no JSON Schema");
  const problem = isZod(schema) ? zodProblem(schema, value) : schemaProblem(schema, value);
  return problem === null ? right(shown, "the schema accepts it") : wrong(shown, problem);
}

/** The content of the last code fence, or all of the text. */
function jsonIn(text: string): string {
  const end = text.lastIndexOf("```");
  const start = end <= 0 ? -1 : text.lastIndexOf("```", end - 1);
  if (start < 0) return text.trim();
  return text
    .slice(start + 3, end)
    .replace(/^[a-z0-9]{0,12}\s/i, "")
    .trim();
}

/** True past 100 open brackets: a validator's recursion stays shallow. Brackets in strings count too, to be simple. */
function isDeep(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === 0x5b || character === 0x7b) depth += 1;
    else if (character === 0x5d || character === 0x7d) depth -= 1;
    if (depth > deepest) return true;
  }
  return false;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // Not JSON: the caller says so.
  }
}

function readSchema(value: unknown): Record<string, unknown> | null {
  const schema = typeof value === "string" && value.length <= longestSchema ? parse(value) : value;
  return typeof schema === "object" && schema !== null && !Array.isArray(schema)
    ? (schema as Record<string, unknown>)
    : null;
}

function isZod(schema: z.ZodType | Record<string, unknown>): schema is z.ZodType {
  return "safeParse" in schema && typeof schema.safeParse === "function";
}

function zodProblem(schema: z.ZodType, value: unknown): string | null {
  const result = schema.safeParse(value);
  if (result.success) return null;
  const [issue] = result.error.issues;
  return `${issue?.path.join(".") || "the value"}: ${issue?.message ?? "refused"}`;
}

function schemaProblem(schema: Record<string, unknown>, value: unknown): string | null {
  const validate = compileSchema(schema);
  if (typeof validate === "string") return validate;
  if (validate(value)) return null;
  const [error] = validate.errors ?? [];
  return `${error?.instancePath || "the value"}: ${error?.message ?? "refused"}${show(error?.params)}`;
}

const compiled = new Map<string, ValidateFunction | string>();
const mostCompiled = 100;

/** A schema's validator, or what is wrong with the schema; the last hundred are kept. */
function compileSchema(schema: Record<string, unknown>): ValidateFunction | string {
  const text = JSON.stringify(schema);
  const known = compiled.get(text);
  if (known !== undefined) return known;
  if (text.length > longestSchema) return `the schema is longer than ${longestSchema} characters`;
  const validate = newValidator(JSON.parse(text));
  if (compiled.size >= mostCompiled) compiled.delete(compiled.keys().next().value as string);
  compiled.set(text, validate);
  return validate;
}

function newValidator(schema: Record<string, unknown>): ValidateFunction | string {
  const { Ajv } = loadLibrary<{ Ajv: typeof AjvClass }>("ajv");
  const regExp = Object.assign(linearPattern, { code: "linearPattern" });
  const ajv = new Ajv({
    strict: false,
    validateFormats: false,
    validateSchema: true,
    code: { regExp },
  });
  try {
    const { $schema: _dialect, ...rules } = schema;
    return ajv.compile(rules);
  } catch (thrown) {
    return `the schema cannot be read: ${thrown instanceof Error ? clip(thrown.message) : "unknown"}`;
  }
}

function linearPattern(pattern: string): { test(text: string): boolean } {
  const engine = compilePattern(pattern, true);
  if (typeof engine === "string") throw new Error(engine);
  return { test: (text) => engine.matcher(text).find() };
}
