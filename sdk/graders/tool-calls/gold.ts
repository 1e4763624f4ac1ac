import { unwrapGold } from "../gold.js";
import { type Json, parseJson, toJson } from "../json.js";
import { toCalls } from "./calls.js";

/** What one parameter may be: any of the values; optional where it may be left out. */
export interface GoldParameter {
  allowed: Json[];
  optional: boolean;
}

export interface GoldCall {
  name: string;
  parameters: Map<string, GoldParameter>;
  /** True for an answer key that lists every parameter there is: then no other is allowed. */
  complete: boolean;
}

/** Sets of calls: a response must make all the calls of one of them. */
export type Gold =
  | { alternatives: GoldCall[][]; problem: null }
  | { alternatives: null; problem: string };

export interface GoldOptions {
  /** "all": a list's calls must all be made; "any": one of them. */
  list: "all" | "any";
  /** True: each parameter's value is a list of the values that are allowed. */
  allowedValues: boolean;
  /** Parameters that may be left out, but must match where they are given. */
  optional: readonly string[];
}

const mostAlternatives = 64;

/**
 * Reads a ground truth: a call, a list of calls, `{anyOf: […]}` of either, JSON text of these, or BFCL's answer key
 * `[{name: {parameter: [values]}}]`, where "" among the values makes a parameter optional. [] wants no call.
 */
export function readGold(groundTruth: unknown, options: GoldOptions): Gold {
  const value = unwrapGold(groundTruth);
  const json = typeof value === "string" ? parseJson(value) : toJson(value);
  if (json === undefined || json === null)
    return { alternatives: null, problem: "the ground truth is no call" };
  const choices = json instanceof Map ? json.get("anyOf") : undefined;
  if (Array.isArray(choices))
    return joinGolds(choices.slice(0, mostAlternatives).map((one) => readSet(one, options)));
  if (options.list === "any" && Array.isArray(json)) {
    return joinGolds(json.slice(0, mostAlternatives).map((one) => readSet(one, options)));
  }
  return joinGolds([readSet(json, options)]);
}

type GoldSet = GoldCall[] | string;

function joinGolds(sets: GoldSet[]): Gold {
  const problem = sets.find((set) => typeof set === "string");
  if (typeof problem === "string") return { alternatives: null, problem };
  return { alternatives: sets as GoldCall[][], problem: null };
}

function readSet(json: Json, options: GoldOptions): GoldSet {
  const calls = Array.isArray(json) ? json : [json];
  const golds: GoldCall[] = [];
  for (const one of calls) {
    const key = answerKey(one);
    if (key !== null) golds.push(key);
    else {
      const read = toCalls(one);
      if (read.calls === null) return `the ground truth is no call: ${read.problem}`;
      for (const call of read.calls)
        golds.push({ ...call, parameters: toGold(call.parameters, options), complete: false });
    }
  }
  return golds;
}

function toGold(parameters: Map<string, Json>, options: GoldOptions): Map<string, GoldParameter> {
  const gold = new Map<string, GoldParameter>();
  for (const [name, value] of parameters) {
    if (isEmpty(value)) continue;
    const allowed = options.allowedValues && Array.isArray(value) ? value : [value];
    const optional =
      options.optional.includes(name) || (options.allowedValues && allowed.includes(""));
    gold.set(name, { allowed, optional });
  }
  return gold;
}

/** Columns of a table leave absent parameters null, "" or []: such a one asks for nothing. */
function isEmpty(value: Json): boolean {
  return value === null || value === "" || (Array.isArray(value) && value.length === 0);
}

const reserved = new Set(["name", "parameters", "arguments", "function", "tool_calls"]);

/** A call of BFCL's answer key, `{name: {parameter: [values]}}`, or null for any other value. */
function answerKey(json: Json): GoldCall | null {
  if (!(json instanceof Map) || json.size !== 1) return null;
  const [[name, parameters]] = [...json] as [[string, Json]];
  if (reserved.has(name)) return null;
  if (!(parameters instanceof Map) || ![...parameters.values()].every(Array.isArray)) return null;
  const gold = new Map<string, GoldParameter>();
  for (const [parameter, values] of parameters as Map<string, Json[]>) {
    const allowed = values.filter((value) => value !== "").flatMap(expandKey);
    gold.set(parameter, { allowed, optional: values.includes("") });
  }
  return { name, parameters: gold, complete: true };
}

const mostExpanded = 256;

/**
 * An answer key nests its lists of allowed values in objects too, alone or in lists: each combination is one value.
 * Past 256 combinations the value stands as it is written.
 */
function expandKey(value: Json): Json[] {
  return expand(value) ?? [value];
}

function expand(value: Json): Json[] | null {
  if (Array.isArray(value)) {
    if (!value.some((item) => item instanceof Map)) return [value];
    return combine(value.map((item) => expand(item)));
  }
  if (!(value instanceof Map) || ![...value.values()].every(Array.isArray)) return [value];
  const keys = [...value.keys()];
  const values = combine([...value.values()] as Json[][]);
  return (
    values?.map(
      (one) => new Map(keys.map((key, at) => [key, one[at] as Json] as const).filter(isGiven)),
    ) ?? null
  );
}

function isGiven([, part]: readonly [string, Json]): boolean {
  return part !== "";
}

/** One list for each way to take an item of every choice; null past the most. */
function combine(choices: (Json[] | null)[]): Json[][] | null {
  let combined: Json[][] = [[]];
  for (const choice of choices) {
    if (choice === null || combined.length * choice.length > mostExpanded) return null;
    combined = combined.flatMap((one) => choice.map((part) => [...one, part]));
  }
  return combined;
}
