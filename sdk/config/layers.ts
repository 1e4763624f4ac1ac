import { ConfigError, type ErrorPlace } from "../../bridge/errors.js";
import type { Assignment } from "./assignment.js";
import { verlKeyKind } from "./keys.js";
import { withAbsolutePaths } from "./paths.js";
import { leavesOf, type Tree, withAt, withoutAt } from "./tree.js";

/** All sources of a configuration put together, before its keys and values are checked. */
export interface Layered {
  tree: Tree;
  /** veRL keys (dotted, without the genenv.env prefix) that veRL's own configuration lacks, given with +. */
  added: string[];
  /** veRL keys to take out of veRL's configuration, given with ~. */
  deleted: string[];
  /** Where a key was written last; null for a default. */
  placeOf(path: readonly string[]): ErrorPlace | null;
}

const isGenenvPath = (path: readonly string[]): boolean =>
  path[0] === "env_model_path" || (path[0] === "genenv" && path[1] !== "env");

const toVerlPath = (path: readonly string[]): readonly string[] =>
  path[0] === "genenv" && path[1] === "env" ? path.slice(2) : path;

/** Lays assignments over a base, later ones winning; paths become absolute on the way. */
export function layAssignments(base: Tree, assignments: readonly Assignment[]): Layered {
  let tree = base;
  const added = new Set<string>();
  const deleted = new Set<string>();
  for (const assignment of assignments.map(withAbsolutePaths)) {
    const { operation, path, value } = assignment;
    if (operation === "delete") {
      deleteKey(assignment).forEach((key) => {
        deleted.add(key);
      });
      tree = withoutAt(tree, path);
      continue;
    }
    if (operation !== "set") {
      newKeys(assignment).forEach((key) => {
        added.add(key);
      });
    }
    deleted.delete(path.join("."));
    tree = withAt(tree, path, value);
  }
  return {
    tree,
    added: [...added],
    deleted: [...deleted],
    placeOf: (path) => lastPlace(assignments, path),
  };
}

function deleteKey({ path, placeOf }: Assignment): string[] {
  if (isGenenvPath(path)) return [];
  if (path[0] === "genenv") {
    throw new ConfigError(`~${path.join(".")} can't take a key from one role alone`, {
      code: "bad-override",
      place: placeOf([]),
      hint: "set it to null, or take it from both roles without genenv.env",
    });
  }
  return [path.join(".")];
}

/** The leaves of a + or ++ assignment that veRL lacks; + on a key that is there is an error, as in Hydra. */
function newKeys({ operation, path, value, placeOf }: Assignment): string[] {
  const dotted = path.join(".");
  if (isGenenvPath(path)) {
    if (operation === "force") return [];
    throw existsError(dotted, placeOf([]));
  }
  const leaves = leavesOf(value, [...toVerlPath(path)]).map((leaf) => leaf.path);
  const lacking = leaves.filter((leaf) => verlKeyKind(leaf).kind === "unknown");
  if (
    operation === "add" &&
    lacking.length === 0 &&
    verlKeyKind(toVerlPath(path)).kind !== "free"
  ) {
    throw existsError(dotted, placeOf([]));
  }
  return lacking.map((leaf) => leaf.join("."));
}

function existsError(key: string, place: ErrorPlace): ConfigError {
  return new ConfigError(`+${key} adds a key that is there already`, {
    code: "bad-override",
    place,
    hint: `write ${key}=... to set it`,
  });
}

function lastPlace(assignments: readonly Assignment[], path: readonly string[]): ErrorPlace | null {
  const covers = ({ operation, path: own }: Assignment): boolean =>
    operation !== "delete" && own.every((part, i) => i >= path.length || part === path[i]);
  const last = [...assignments].reverse().find(covers);
  return last?.placeOf(path.slice(last.path.length)) ?? null;
}
