const open = "<think>";
const close = "</think>";
/** A response with more tags than this is no thinking but noise: all of it is left out. */
const mostTags = 2000;

/**
 * The response without its thinking: every `<think>` block is left out, one that never closes to the end. A close
 * tag with no open one (the chat template opened it in the prompt) makes all before it thinking.
 */
export function withoutThinking(response: string): string {
  if (!response.includes(open) && !response.includes(close)) return response;
  let kept: string[] = [];
  let depth = 0;
  let at = 0;
  let tags = 0;
  let nextOpen = -1;
  let nextClose = -1;
  while (at < response.length) {
    // Looked for again only once passed: a text full of one tag stays linear.
    if (nextOpen < at) nextOpen = indexOrEnd(response, open, at);
    if (nextClose < at) nextClose = indexOrEnd(response, close, at);
    const next = Math.min(nextOpen, nextClose);
    if (depth === 0) kept.push(response.slice(at, next));
    if (next === response.length) break;
    if (++tags > mostTags) return "";
    if (next === nextOpen) {
      depth += 1;
      at = next + open.length;
    } else {
      if (depth === 0) kept = [];
      depth = Math.max(0, depth - 1);
      at = next + close.length;
    }
  }
  return kept.join("");
}

function indexOrEnd(text: string, tag: string, from: number): number {
  const at = text.indexOf(tag, from);
  return at < 0 ? text.length : at;
}
