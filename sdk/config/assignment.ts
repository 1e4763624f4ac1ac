import { parseDocument } from "yaml";
import { ConfigError, type ErrorPlace } from "../../bridge/errors.js";
import { isTree } from "./tree.js";

/** Hydra's four ways to name a key: `key`, `+key` (new), `++key` (new or not), `~key` (take away). */
export type Operation = "set" | "add" | "force" | "delete";

/** One statement of a configuration source: this key gets this value. */
export interface Assignment {
  operation: Operation;
  path: string[];
  value: unknown;
  /** Relative paths in `value` start here (absolute). */
  baseDir: string;
  /** Where the key below `path` was written. */
  placeOf(below: readonly string[]): ErrorPlace;
}

const keyPattern = /^(\+\+|\+|~)?([^\s.+~]+(?:\.[^\s.]+)*)$/;
const operations: Record<string, Operation> = { "+": "add", "++": "force", "~": "delete" };
const unsafe = new Set(["__proto__", "constructor", "prototype"]);

/** Splits `+a.b.c` into its operation and path; null when it isn't a key. */
export function parseKey(text: string): { operation: Operation; path: string[] } | null {
  const match = keyPattern.exec(text);
  if (!match?.[2]) return null;
  const path = match[2].split(".");
  if (path.some((part) => unsafe.has(part))) return null;
  return { operation: operations[match[1] ?? ""] ?? "set", path };
}

/** Reads `key=value` as Hydra does: the value is a YAML scalar, list or mapping; `~key` needs none. */
export function parseOverride(text: string, baseDir: string): Assignment {
  const equals = text.indexOf("=");
  const key = parseKey(equals < 0 ? text : text.slice(0, equals));
  const place: ErrorPlace = { at: `override ${JSON.stringify(text)}` };
  if (!key) throw overrideError(text, place, "the part before = is not a key");
  if (equals < 0 && key.operation !== "delete") throw overrideError(text, place, "it has no =");
  const value = equals < 0 ? null : parseValue(text.slice(equals + 1), text, place);
  return { ...key, value, baseDir, placeOf: () => place };
}

function parseValue(source: string, text: string, place: ErrorPlace): unknown {
  if (source === "") return "";
  const document = parseDocument(source, { prettyErrors: false });
  const problem = document.errors[0];
  if (problem) throw overrideError(text, place, problem.message);
  const value: unknown = document.toJS();
  // YAML reads {a:1} as one key "a:1"; Hydra reads a mapping.
  if (isTree(value) && Object.entries(value).some(([key, v]) => v === null && key.includes(":"))) {
    throw overrideError(text, place, "a mapping needs a space after each colon, {a: 1}");
  }
  return value;
}

function overrideError(text: string, place: ErrorPlace, problem: string): ConfigError {
  return new ConfigError(`can't read the override ${JSON.stringify(text)}: ${problem}`, {
    code: "bad-override",
    place,
    hint: 'write key=value, such as actor_rollout_ref.actor.optim.lr=1e-5 or "data.train_files=[a.parquet,b.parquet]"',
  });
}
