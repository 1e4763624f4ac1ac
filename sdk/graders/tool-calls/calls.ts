import { type Json, jsonText, parseJson } from "../json.js";

/** One call: the function's name and its arguments by name. */
export interface Call {
  name: string;
  parameters: Map<string, Json>;
}

/** The calls that a JSON value makes, or what is wrong with it. */
export type CallsRead = { calls: Call[]; problem: null } | { calls: null; problem: string };

const mostCalls = 64;

/**
 * The calls in a JSON value: `{name, arguments}` (or `parameters`), OpenAI's `{type: "function", function: {…}}`, a
 * message with `tool_calls`, or a list of any of these. No arguments at all means none.
 */
export function toCalls(value: Json, depth = 0): CallsRead {
  if (Array.isArray(value))
    return depth > 2 ? bad("lists of calls in lists") : listCalls(value, depth);
  if (!(value instanceof Map)) return bad(`${jsonText(value).slice(0, 60)} is no call`);
  const list = value.get("tool_calls");
  if (Array.isArray(list) && !value.has("name")) return listCalls(list, depth);
  const wrapped = value.get("function");
  if (wrapped instanceof Map && !value.has("name")) return toCalls(wrapped, depth + 1);
  return oneCall(value);
}

function bad(problem: string): CallsRead {
  return { calls: null, problem };
}

function listCalls(values: Json[], depth: number): CallsRead {
  if (values.length > mostCalls) return bad(`more than ${mostCalls} calls`);
  const calls: Call[] = [];
  for (const value of values) {
    const read = toCalls(value, depth + 1);
    if (read.calls === null) return read;
    calls.push(...read.calls);
  }
  return { calls, problem: null };
}

function oneCall(value: Map<string, Json>): CallsRead {
  const name = value.get("name");
  if (typeof name !== "string" || name === "") return bad("a call must name its function");
  const given = value.has("arguments") ? value.get("arguments") : value.get("parameters");
  const parameters =
    typeof given === "string" ? parseJson(given) : (given ?? new Map<string, Json>());
  if (!(parameters instanceof Map)) return bad(`the arguments of ${name} are no object`);
  return { calls: [{ name, parameters }], problem: null };
}

/** A call as text, for a reason. */
export function callText(call: Call): string {
  const args = [...call.parameters].map(([name, value]) => `${name}=${jsonText(value)}`);
  return `${call.name}(${args.join(", ")})`;
}
