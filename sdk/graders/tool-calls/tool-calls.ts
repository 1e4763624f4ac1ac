import { clip } from "../show.js";
import { type Grade, type GraderInput, right, wrong } from "../types.js";
import { type Call, callText } from "./calls.js";
import { type Found, findCalls } from "./find.js";
import { type GoldCall, type GoldOptions, readGold } from "./gold.js";
import { assign, type MatchOptions, mismatch, parameterShare } from "./match.js";

/** What each part of a response is worth where it is not wholly right. */
export interface PartialCredit {
  format: number;
  name: number;
  parameters: number;
}

/** The conventions of the tool-call grader that a caller may choose; each one's default stands first. */
export interface ToolCallsOptions {
  /** "all": a list of calls must all be made; "any": the list's items are alternatives. */
  list?: "all" | "any";
  /** "key": only an answer key in BFCL's form refuses parameters it doesn't name. */
  extraParameters?: "key" | "allow" | "refuse";
  /** "refuse": a call too many is wrong. */
  extraCalls?: "refuse" | "allow";
  /** "exact", or "loose": without case, blanks and , . / - _ * ^. */
  strings?: "exact" | "loose";
  /** True: each parameter of the ground truth is a list of allowed values ("" among them: may be left out). */
  allowedValues?: boolean;
  /** Parameters that may be left out, but must match where they are given. */
  optional?: readonly string[];
  /** True: JSON without <tool_call> tags is a call. */
  bare?: boolean;
  /** Credit for the parts of a wrong response: true for 0.2 format, 0.3 name, 0.5 parameters. */
  partial?: boolean | PartialCredit;
}

const longest = 200_000;
const defaultCredit: PartialCredit = { format: 0.2, name: 0.3, parameters: 0.5 };

/**
 * Scores 1 where the response makes the calls that the ground truth asks for, in any order and no others. The rules
 * are in docs/graders.md. A response past 200,000 characters is not read.
 */
export function toolCalls(
  { response, groundTruth }: GraderInput,
  options: ToolCallsOptions = {},
): Grade {
  if (typeof response !== "string") return wrong(null, "the response is not text");
  if (response.length > longest)
    return wrong(null, `the response is longer than ${longest} characters`);
  const gold = readGold(groundTruth, toGoldOptions(options));
  if (gold.alternatives === null) return wrong(null, gold.problem);
  const found = findCalls(response, options.bare ?? false);
  const grades = gold.alternatives.map((golds) => gradeSet(found, golds, options));
  return grades.reduce(
    (best, grade) => (grade.score > best.score ? grade : best),
    grades[0] ?? noGold,
  );
}

const noGold: Grade = wrong(null, "the ground truth lists no alternative");

function toGoldOptions(options: ToolCallsOptions): GoldOptions {
  return {
    list: options.list ?? "all",
    allowedValues: options.allowedValues ?? false,
    optional: options.optional ?? [],
  };
}

function gradeSet(found: Found, golds: GoldCall[], options: ToolCallsOptions): Grade {
  const match: MatchOptions = {
    extraParameters: options.extraParameters ?? "key",
    strings: options.strings ?? "exact",
  };
  const extracted = found.calls.length === 0 ? null : clip(found.calls.map(callText).join("; "));
  const problem = findProblem(found, golds, match, options.extraCalls === "allow");
  if (problem === null)
    return right(extracted, extracted === null ? "no call, as wanted" : `made ${extracted}`);
  const metrics = measureParts(found, golds, match);
  const credit = options.partial === true ? defaultCredit : options.partial || null;
  const score = credit === null ? 0 : partialScore(metrics, credit);
  return { ...wrong(extracted, problem), score, metrics };
}

/** Why the calls are not those that are wanted; null where they are. */
function findProblem(
  found: Found,
  golds: GoldCall[],
  match: MatchOptions,
  extraCalls: boolean,
): string | null {
  const { calls, problems } = found;
  if (problems.length > 0) return `a call cannot be read: ${problems[0]}`;
  if (golds.length > 0 && calls.length === 0) return "no call was found outside <think>";
  const given = assign(calls, golds, match);
  const missed = given.indexOf(-1);
  if (missed >= 0) return missedReason(golds[missed] as GoldCall, calls, given, match);
  if (calls.length > golds.length && !extraCalls) {
    const extra = calls.find((_call, at) => !given.includes(at)) as Call;
    return `made ${calls.length} calls where ${golds.length} are wanted: ${clip(callText(extra))} is too many`;
  }
  return null;
}

/** What is wrong with the nearest call that is free to be the missed one. */
function missedReason(gold: GoldCall, calls: Call[], given: number[], match: MatchOptions): string {
  const free = calls.filter((_call, at) => !given.includes(at));
  const named = free.find((call) => call.name === gold.name) ?? free[0];
  if (named === undefined) return `${gold.name} was not called often enough`;
  return mismatch(named, gold, match) ?? `${gold.name} was not called`;
}

function measureParts(
  found: Found,
  golds: GoldCall[],
  match: MatchOptions,
): Record<string, number> {
  const { calls, problems } = found;
  const most = Math.max(golds.length, calls.length + problems.length, 1);
  const free = [...calls];
  let names = 0;
  let parameters = 0;
  for (const gold of golds) {
    const shares = free.map((call) =>
      call.name === gold.name ? parameterShare(call, gold, match) : -1,
    );
    const best = Math.max(-1, ...shares);
    if (best < 0) continue;
    free.splice(shares.indexOf(best), 1);
    names += 1;
    parameters += best;
  }
  const format = calls.length === 0 ? 0 : calls.length / (calls.length + problems.length);
  return { format, name: names / most, parameters: parameters / most };
}

/** The credit for the parts, always less than a right response's. */
function partialScore(parts: Record<string, number>, credit: PartialCredit): number {
  const total = credit.format + credit.name + credit.parameters;
  const earned =
    credit.format * (parts.format ?? 0) +
    credit.name * (parts.name ?? 0) +
    credit.parameters * (parts.parameters ?? 0);
  return total > 0 ? Math.min(0.99, Math.max(0, earned / total)) : 0;
}
