import type { RE2JS } from "re2js";
import { goldTexts } from "./gold.js";
import { loadLibrary } from "./load.js";
import { clip } from "./show.js";
import { withoutThinking } from "./think.js";
import { type Grade, type GraderInput, right, wrong } from "./types.js";

/** The conventions of the regex grader; each one's default stands first. */
export interface RegexOptions {
  /** The pattern, in RE2's syntax; without one the ground truth is the pattern (a list: alternatives). */
  pattern?: string;
  /** "search": the pattern stands anywhere; "full": it is all of the response, blanks at both ends aside. */
  match?: "search" | "full";
  /** True: A is not a. */
  caseSensitive?: boolean;
}

const longestResponse = 100_000;
const longestPattern = 1000;
const mostPatterns = 16;

/**
 * Scores 1 where the pattern matches the response, less its thinking. The engine (re2js) takes time linear in the
 * text, whatever the pattern; it has no back references and no look-around. Of a long response the last 100,000 characters are read.
 */
export function regex({ response, groundTruth }: GraderInput, options: RegexOptions = {}): Grade {
  if (typeof response !== "string") return wrong(null, "the response is not text");
  const patterns = options.pattern === undefined ? goldTexts(groundTruth) : [options.pattern];
  if (patterns.length === 0) return wrong(null, "the ground truth is no pattern");
  const spoken = withoutThinking(response).slice(-longestResponse);
  let problem = "";
  for (const pattern of patterns.slice(0, mostPatterns)) {
    const compiled = compilePattern(pattern, options.caseSensitive !== false);
    if (typeof compiled === "string") problem = compiled;
    else {
      const found = findMatch(compiled, spoken, options.match ?? "search");
      if (found !== null) return right(clip(found), `${clip(found)} matches ${clip(pattern)}`);
    }
  }
  return wrong(null, problem || `nothing matches ${patterns.map(clip).join(" or ")}`);
}

/** A compiled pattern, or what is wrong with it. */
export function compilePattern(pattern: string, caseSensitive: boolean): RE2JS | string {
  if (pattern.length > longestPattern)
    return `a pattern is longer than ${longestPattern} characters`;
  const { RE2JS: engine } = loadLibrary<typeof import("re2js")>("re2js");
  try {
    return engine.compile(pattern, caseSensitive ? 0 : engine.CASE_INSENSITIVE);
  } catch (thrown) {
    return `the pattern ${clip(pattern)} cannot be read: ${thrown instanceof Error ? thrown.message : thrown}`;
  }
}

function findMatch(pattern: RE2JS, text: string, match: "search" | "full"): string | null {
  const matcher = pattern.matcher(match === "full" ? text.trim() : text);
  const matched = match === "full" ? matcher.matches() : matcher.find();
  if (!matched) return null;
  const group = matcher.groupCount() > 0 ? matcher.group(1) : null;
  return group ?? matcher.group() ?? "";
}
