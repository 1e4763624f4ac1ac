import { genenvSchema } from "./schema.js";
import { isTree, leavesOf, type Tree, withAt } from "./tree.js";
import { verlKeys } from "./verl-keys.js";

/** What a key is: a section, a value with this default, free-form below a key, or nothing we know. */
export type KeyKind =
  | { kind: "section" }
  | { kind: "value"; default: unknown }
  | { kind: "free" }
  | { kind: "unknown" };

let verlTree: Tree | undefined;

function verlDefaults(): Tree {
  verlTree ??= Object.entries(verlKeys).reduce<Tree>(
    (tree, [key, value]) => withAt(tree, key.split("."), value),
    {},
  );
  return verlTree;
}

/** What veRL's own configuration has at a path. */
export function verlKeyKind(path: readonly string[]): KeyKind {
  let at: unknown = verlDefaults();
  for (const [depth, key] of path.entries()) {
    // Below {} and below null anything goes; other values have nothing below them.
    if (at === null || (isTree(at) && Object.keys(at).length === 0)) {
      return depth > 0 ? { kind: "free" } : { kind: "unknown" };
    }
    if (!isTree(at) || !Object.hasOwn(at, key)) return { kind: "unknown" };
    at = at[key];
  }
  if (isTree(at) && Object.keys(at).length > 0) return { kind: "section" };
  return { kind: "value", default: at };
}

/** veRL's default at a dotted key; undefined for a section and for what veRL doesn't have. */
export function verlDefault(key: string): unknown {
  return Object.hasOwn(verlKeys, key) ? verlKeys[key] : undefined;
}

/** Every key that a configuration may hold, sections too, genenv's first. */
export function allKeys(): string[] {
  const genenv = leavesOf(genenvSchema.parse({}), ["genenv"]).map((leaf) => leaf.path.join("."));
  const keys = new Set(["env_model_path"]);
  for (const key of [...genenv, ...Object.keys(verlKeys)]) {
    const parts = key.split(".");
    parts.forEach((_, end) => {
      keys.add(parts.slice(0, end + 1).join("."));
    });
  }
  return [...keys];
}
