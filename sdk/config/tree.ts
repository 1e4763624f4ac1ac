/** A nested mapping, as YAML and Hydra have it. Lists are leaves. */
export type Tree = { [key: string]: unknown };

export function isTree(value: unknown): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value at a path; undefined where there is none. */
export function getAt(tree: Tree, path: readonly string[]): unknown {
  let at: unknown = tree;
  for (const key of path) {
    if (!isTree(at) || !Object.hasOwn(at, key)) return undefined;
    at = at[key];
  }
  return at;
}

/** A copy with `value` at the path; a mapping is merged into one that is there, anything else replaces it. */
export function withAt(tree: Tree, path: readonly string[], value: unknown): Tree {
  const [key, ...rest] = path;
  if (key === undefined) return isTree(value) ? mergeTrees(tree, value) : tree;
  const below = tree[key];
  if (rest.length > 0) return { ...tree, [key]: withAt(isTree(below) ? below : {}, rest, value) };
  return { ...tree, [key]: isTree(below) && isTree(value) ? mergeTrees(below, value) : value };
}

/** A copy without what is at the path, and without mappings that this leaves empty. */
export function withoutAt(tree: Tree, path: readonly string[]): Tree {
  const [key, ...rest] = path;
  if (key === undefined || !Object.hasOwn(tree, key)) return tree;
  const { [key]: below, ...others } = tree;
  if (rest.length === 0 || !isTree(below)) return rest.length === 0 ? others : tree;
  const pruned = withoutAt(below, rest);
  return Object.keys(pruned).length === 0 ? others : { ...tree, [key]: pruned };
}

/** `over` laid on `base`: mappings merge, everything else is replaced. */
export function mergeTrees(base: Tree, over: Tree): Tree {
  const merged: Tree = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const below = merged[key];
    merged[key] = isTree(below) && isTree(value) ? mergeTrees(below, value) : value;
  }
  return merged;
}

/** Every leaf with its path, in order; an empty mapping is a leaf. */
export function leavesOf(
  value: unknown,
  path: string[] = [],
): { path: string[]; value: unknown }[] {
  if (!isTree(value) || Object.keys(value).length === 0) return [{ path, value }];
  return Object.entries(value).flatMap(([key, below]) => leavesOf(below, [...path, key]));
}
