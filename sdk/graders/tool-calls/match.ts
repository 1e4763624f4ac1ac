import { type Json, sameJson } from "../json.js";
import type { Call } from "./calls.js";
import type { GoldCall, GoldParameter } from "./gold.js";

export interface MatchOptions {
  /** "allow": a call may give parameters that the ground truth doesn't name. */
  extraParameters: "allow" | "refuse" | "key";
  strings: "exact" | "loose";
}

/** Why a call is not the one that is wanted; null where it is. */
export function mismatch(call: Call, gold: GoldCall, options: MatchOptions): string | null {
  if (call.name !== gold.name) return `${call.name} is not ${gold.name}`;
  for (const [name, wanted] of gold.parameters) {
    const problem = parameterProblem(name, call.parameters.get(name), wanted, options);
    if (problem !== null) return `${gold.name}: ${problem}`;
  }
  const { extraParameters } = options;
  const refused = extraParameters === "refuse" || (extraParameters === "key" && gold.complete);
  const extra = refused
    ? [...call.parameters.keys()].find((name) => !gold.parameters.has(name))
    : undefined;
  return extra === undefined ? null : `${gold.name}: parameter ${extra} is not wanted`;
}

function parameterProblem(
  name: string,
  given: Json | undefined,
  wanted: GoldParameter,
  options: MatchOptions,
): string | null {
  if (given === undefined) return wanted.optional ? null : `parameter ${name} is missing`;
  return wanted.allowed.some((one) => sameParameter(one, given, options))
    ? null
    : `parameter ${name} has another value`;
}

function sameParameter(wanted: Json, given: Json, options: MatchOptions): boolean {
  return (
    sameJson(wanted, given) ||
    (options.strings === "loose" && sameJson(loosen(wanted), loosen(given)))
  );
}

/** Strings without case, blanks and , . / - _ * ^, as BFCL compares them. */
function loosen(value: Json): Json {
  if (typeof value === "string")
    return value
      .toLowerCase()
      .replace(/[ ,./\-_*^]/g, "")
      .replaceAll("'", '"');
  if (Array.isArray(value)) return value.map(loosen);
  if (value instanceof Map) return new Map([...value].map(([key, part]) => [key, loosen(part)]));
  return value;
}

/** The share of a wanted call's parameters that a call of that name gives rightly; a call without any gives all. */
export function parameterShare(call: Call, gold: GoldCall, options: MatchOptions): number {
  if (call.name !== gold.name) return 0;
  const wanted = [...gold.parameters];
  const met = wanted.filter(
    ([name, one]) => parameterProblem(name, call.parameters.get(name), one, options) === null,
  );
  return wanted.length === 0 ? 1 : met.length / wanted.length;
}

/**
 * The call that each wanted call is given, or -1, so that as many as possible are met (augmenting paths: a call that
 * meets two wanted ones is left to the one that no other meets).
 */
export function assign(calls: Call[], golds: GoldCall[], options: MatchOptions): number[] {
  const meets = golds.map((gold) => calls.map((call) => mismatch(call, gold, options) === null));
  const goldOf = new Array<number>(calls.length).fill(-1);
  const place = (gold: number, seen: Set<number>): boolean => {
    for (const [call, met] of (meets[gold] as boolean[]).entries()) {
      if (!met || seen.has(call)) continue;
      seen.add(call);
      const holder = goldOf[call] as number;
      if (holder < 0 || place(holder, seen)) {
        goldOf[call] = gold;
        return true;
      }
    }
    return false;
  };
  for (const gold of golds.keys()) place(gold, new Set());
  return golds.map((_gold, at) => goldOf.indexOf(at));
}
