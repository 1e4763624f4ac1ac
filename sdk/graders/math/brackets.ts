import type { Token } from "./syntax.js";

/** The runs between the tokens that separate, outside all brackets. */
export function splitAt(tokens: Token[], separates: (token: Token) => boolean): Token[][] {
  const parts: Token[][] = [];
  let depth = 0;
  let start = 0;
  for (const [at, token] of tokens.entries()) {
    depth += bracketStep(token);
    if (depth !== 0 || !separates(token)) continue;
    parts.push(tokens.slice(start, at));
    start = at + 1;
  }
  parts.push(tokens.slice(start));
  return parts;
}

/** Where the bracket that opens at `from` closes, or -1; any kind closes any kind, as in [2, 3). */
export function closingIndex(tokens: Token[], from: number): number {
  let depth = 0;
  for (let at = from; at < tokens.length; at++) {
    depth += bracketStep(tokens[at] as Token);
    if (depth === 0) return at;
  }
  return -1;
}

/** 1 where a token opens a bracket, -1 where it closes one, else 0. */
export function bracketStep(token: Token): number {
  if (token.kind === "command") {
    return token.value.startsWith("begin:") ? 1 : token.value.startsWith("end:") ? -1 : 0;
  }
  if (token.kind !== "symbol") return 0;
  if (token.value === "(" || token.value === "[" || token.value === "{" || token.value === "\\{")
    return 1;
  return token.value === ")" || token.value === "]" || token.value === "}" || token.value === "\\}"
    ? -1
    : 0;
}
