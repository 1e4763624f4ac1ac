import { readJson, skipBlanks } from "../json.js";
import { type Call, toCalls } from "./calls.js";

/** The calls that a response makes, in order, and what is wrong with each attempt that is no call. */
export interface Found {
  calls: Call[];
  problems: string[];
}

const openCall = "<tool_call>";
const closeCall = "</tool_call>";
const openThink = "<think>";
const closeThink = "</think>";
const mostBlocks = 64;

/**
 * Reads every <tool_call> block outside <think>. Where there is none, a response that is one OpenAI-style message
 * (`tool_calls`) counts, and with `bare` so do JSON values alone, one after another or in a code fence.
 */
export function findCalls(response: string, bare: boolean): Found {
  const found: Found = { calls: [], problems: [] };
  const spoken = readBlocks(response, found);
  if (found.calls.length === 0 && found.problems.length === 0) readBare(spoken.trim(), bare, found);
  return found;
}

/** Reads the blocks into `found`; returns the text that is neither thinking nor block. */
function readBlocks(text: string, found: Found): string {
  let spoken = "";
  let at = 0;
  while (at < text.length) {
    const next = text.indexOf("<", at);
    if (next < 0) break;
    spoken += text.slice(at, next);
    if (text.startsWith(openThink, next)) at = afterThinking(text, next);
    else if (text.startsWith(closeThink, next)) {
      // The chat template opened the thinking in the prompt: all so far was a part of it.
      found.calls = [];
      found.problems = [];
      spoken = "";
      at = next + closeThink.length;
    } else if (text.startsWith(openCall, next)) {
      if (found.calls.length + found.problems.length >= mostBlocks) {
        found.problems.push(`more than ${mostBlocks} calls`);
        return "";
      }
      at = readBlock(text, next + openCall.length, found);
    } else {
      spoken += "<";
      at = next + 1;
    }
  }
  return spoken + text.slice(Math.max(at, 0));
}

/** Where the text goes on after a block of thinking; one that never closes takes all the rest. */
function afterThinking(text: string, from: number): number {
  const end = text.indexOf(closeThink, from);
  return end < 0 ? text.length : end + closeThink.length;
}

/** Reads one block's calls; returns where the text goes on. */
function readBlock(text: string, from: number, found: Found): number {
  const { calls, problem, end } = readValues(text, from);
  const close = skipBlanks(text, end);
  if (problem === null && text.startsWith(closeCall, close)) {
    found.calls.push(...calls);
    return close + closeCall.length;
  }
  const closing = text.indexOf(closeCall, close);
  const opening = text.indexOf(openCall, close);
  const unclosed = closing < 0 || (opening >= 0 && opening < closing);
  // A stop token may have taken the close tag: whole JSON without one still counts.
  if (problem === null && unclosed) found.calls.push(...calls);
  else found.problems.push(problem ?? "something other than JSON stands in a call");
  if (!unclosed) return closing + closeCall.length;
  return opening < 0 ? (problem === null ? close : text.length) : opening;
}

interface ValuesRead {
  calls: Call[];
  problem: string | null;
  end: number;
}

/** Reads JSON values one after another, in a code fence or not. */
function readValues(text: string, from: number): ValuesRead {
  let at = skipFence(text, skipBlanks(text, from));
  const calls: Call[] = [];
  for (let count = 0; count < mostBlocks; count++) {
    const read = readJson(text, at);
    if (read === null) {
      if (calls.length === 0) return { calls, problem: "a call is not valid JSON", end: at };
      break;
    }
    const made = toCalls(read.value);
    if (made.calls === null) return { calls: [], problem: made.problem, end: read.end };
    calls.push(...made.calls);
    at = skipBlanks(text, read.end);
    if (!"{[".includes(text.charAt(at)) || at >= text.length) break;
  }
  if (calls.length === 0) return { calls, problem: "a block holds no call", end: at };
  return { calls, problem: null, end: skipFence(text, at) };
}

/** Past a code fence's line, opening or closing, where one stands. */
function skipFence(text: string, from: number): number {
  if (!text.startsWith("```", from)) return from;
  let at = from + 3;
  while (at < text.length && /[a-z]/.test(text.charAt(at))) at += 1;
  return skipBlanks(text, at);
}

function readBare(text: string, bare: boolean, found: Found): void {
  const start = skipFence(text, 0);
  const first = readJson(text, start);
  if (first === null) return;
  const message = first.value instanceof Map && first.value.has("tool_calls");
  if (!bare && !message) return;
  const { calls, problem, end } = readValues(text, start);
  if (problem !== null) found.problems.push(problem);
  else if (skipBlanks(text, end) < text.length) found.problems.push("text stands after the JSON");
  else found.calls.push(...calls);
}
