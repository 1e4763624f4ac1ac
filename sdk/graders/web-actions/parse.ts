import type { ActionDeclarations } from "./declarations.js";

/** A value as it was written: text (in quotes or bare) or a list. */
export type ActionValue = { text: string; quoted: boolean } | { items: ActionValue[] };

/** One action: its name and its arguments by name, a positional one under its declared name. */
export interface Action {
  name: string;
  args: Map<string, ActionValue>;
}

/** The actions in a text, in order, and what is wrong with the first that cannot be read (null: nothing). */
export interface ActionsFound {
  actions: Action[];
  problem: string | null;
}

const mostActions = 64;
const longestAction = 20_000;
const deepestList = 4;

interface Reader {
  text: string;
  at: number;
  end: number;
}

/** Reads every declared action in a text; other words, and calls of undeclared names, are prose. */
export function findActions(text: string, declarations: ActionDeclarations): ActionsFound {
  const actions: Action[] = [];
  let problem: string | null = null;
  let attempts = 0;
  const opening = /[A-Za-z_]\w{0,60}(?= {0,3}\()/g;
  for (let match = opening.exec(text); match !== null; match = opening.exec(text)) {
    const name = match[0];
    if (!Object.hasOwn(declarations, name) || followsWord(text, match.index)) continue;
    const start = text.indexOf("(", match.index + name.length) + 1;
    if (start > match.index + name.length + 1 && !startsArguments(text, start)) continue;
    if (++attempts > mostActions) return { actions, problem: `more than ${mostActions} actions` };
    const reader: Reader = { text, at: start, end: Math.min(text.length, start + longestAction) };
    const read = readAction(reader, name, declarations);
    if (typeof read === "string") problem ??= read;
    else actions.push(read);
    opening.lastIndex = typeof read === "string" ? start : reader.at;
  }
  return { actions, problem };
}

/** True where a name is only the end of a longer word, such as right-click or 2click. */
function followsWord(text: string, at: number): boolean {
  return at > 0 && /[\w-]/.test(text.charAt(at - 1));
}

/** After a blank, "click (" opens arguments only where a name and "=", a quote or ")" follows: else it is prose. */
function startsArguments(text: string, at: number): boolean {
  return /^\s{0,20}(?:\w{1,60}\s{0,20}=|["')])/.test(text.slice(at, at + 110));
}

function readAction(
  reader: Reader,
  name: string,
  declarations: ActionDeclarations,
): Action | string {
  const args = new Map<string, ActionValue>();
  const declared = declarations[name] ?? [];
  let position = 0;
  skipBlanks(reader);
  while (peek(reader) !== ")") {
    const keyword = readKey(reader);
    const key = keyword ?? declared[position]?.name;
    if (key === undefined) return `${name} takes ${declared.length} arguments`;
    if (args.has(key)) return `${name} is given ${key} twice`;
    const value = readValue(reader, keyword !== null, 0);
    if (value === null) return `${name} is never closed`;
    args.set(key, value);
    position += 1;
    skipBlanks(reader);
    if (peek(reader) === ",") reader.at += 1;
    else if (peek(reader) !== ")") return `${name} is never closed`;
    skipBlanks(reader);
  }
  reader.at += 1;
  return { name, args };
}

function peek(reader: Reader): string {
  return reader.at < reader.end ? reader.text.charAt(reader.at) : "";
}

function skipBlanks(reader: Reader): void {
  while (reader.at < reader.end && reader.text.charAt(reader.at).trim() === "") reader.at += 1;
}

const keyPattern = /([A-Za-z_]\w{0,60})\s{0,20}=(?!=)/y;

/** Takes a keyword and its "=", where one stands. */
function readKey(reader: Reader): string | null {
  keyPattern.lastIndex = reader.at;
  const match = keyPattern.exec(reader.text);
  if (match === null) return null;
  reader.at = keyPattern.lastIndex;
  return match[1] ?? null;
}

/** A value: quoted, a list, or bare text; null where it never ends. */
function readValue(reader: Reader, named: boolean, depth: number): ActionValue | null {
  skipBlanks(reader);
  const first = peek(reader);
  const start = reader.at;
  if (first === '"' || first === "'" || first === "`") {
    const quoted = readQuoted(reader, first);
    if (quoted !== null) return quoted;
    reader.at = start; // An apostrophe at the start of bare text.
  }
  if (first === "[" && depth < deepestList) {
    const list = readList(reader, depth);
    if (list !== null) return list;
    reader.at = start;
  }
  return readBare(reader, named, depth > 0);
}

const escapes: Record<string, string> = { n: "\n", t: "\t", r: "\r" };

/** Quoted text: it ends at the first quote that a comma or a closing bracket follows. */
function readQuoted(reader: Reader, quote: string): ActionValue | null {
  let text = "";
  for (let at = reader.at + 1; at < reader.end; at++) {
    const character = reader.text.charAt(at);
    if (character === "\\") {
      at += 1;
      const escaped = reader.text.charAt(at);
      text += escapes[escaped] ?? escaped;
    } else if (character === quote && endsArgument(reader, at + 1)) {
      reader.at = at + 1;
      return { text, quoted: true };
    } else text += character;
  }
  return null;
}

function endsArgument(reader: Reader, from: number): boolean {
  let at = from;
  while (at < reader.end && " \t\r\n".includes(reader.text.charAt(at))) at += 1;
  return at < reader.end && ",)]".includes(reader.text.charAt(at));
}

function readList(reader: Reader, depth: number): ActionValue | null {
  const items: ActionValue[] = [];
  reader.at += 1;
  skipBlanks(reader);
  while (peek(reader) !== "]") {
    const item = readValue(reader, false, depth + 1);
    if (item === null) return null;
    items.push(item);
    skipBlanks(reader);
    if (peek(reader) === ",") reader.at += 1;
    else if (peek(reader) !== "]") return null;
    skipBlanks(reader);
  }
  reader.at += 1;
  return endsArgument(reader, reader.at) ? { items } : null;
}

/**
 * Bare text up to the comma or bracket that ends it. Brackets inside it are balanced; after a keyword only a
 * comma before the next keyword separates, so that `value=Paris, France` is one value.
 */
function readBare(reader: Reader, named: boolean, inList: boolean): ActionValue | null {
  const start = reader.at;
  let depth = 0;
  for (; reader.at < reader.end; reader.at++) {
    const character = reader.text.charAt(reader.at);
    if (character === "(") depth += 1;
    else if (depth > 0) depth -= character === ")" ? 1 : 0;
    else if (character === ")" || (inList && character === "]")) return bare(reader, start);
    else if (character === "," && (!named || keyFollows(reader))) return bare(reader, start);
  }
  return null;
}

function bare(reader: Reader, start: number): ActionValue {
  return { text: reader.text.slice(start, reader.at).trim(), quoted: false };
}

const nextKeyword = /,\s{0,20}[A-Za-z_]\w{0,60}\s{0,20}=(?!=)/y;

function keyFollows(reader: Reader): boolean {
  nextKeyword.lastIndex = reader.at;
  return nextKeyword.test(reader.text);
}

/** An action as text, for a reason. */
export function actionText(action: Action): string {
  return `${action.name}(${[...action.args].map(([name, value]) => `${name}=${valueText(value)}`).join(", ")})`;
}

export function valueText(value: ActionValue): string {
  return "items" in value
    ? `[${value.items.map(valueText).join(", ")}]`
    : JSON.stringify(value.text);
}
