import { ConfigError, type ErrorPlace } from "../../bridge/errors.js";
import { allKeys, verlKeyKind } from "./keys.js";
import { nearestName } from "./nearest.js";
import { getAt, isTree, leavesOf, type Tree } from "./tree.js";
import { type RefusedKey, refusedKeys } from "./verl-rules.js";

type PlaceOf = (path: readonly string[]) => ErrorPlace | null;

interface Overlay {
  role: "agent" | "environment";
  /** How the keys are written: nothing for the agent's, `genenv.env` for the environment's. */
  prefix: string[];
  tree: Tree;
  /** Dotted keys given with +, known by that. */
  added: readonly string[];
}

/** Throws at the first key of a role's overlay that veRL doesn't have, can't take or that has no effect here. */
export function assertVerlKeys(overlay: Overlay, placeOf: PlaceOf): void {
  assertRefused(overlay, placeOf);
  walk(overlay, [], overlay.tree, placeOf);
}

function walk(overlay: Overlay, path: string[], value: unknown, placeOf: PlaceOf): void {
  const written = [...overlay.prefix, ...path];
  const dotted = path.join(".");
  const kind = path.length === 0 ? { kind: "section" as const } : verlKeyKind(path);
  if (kind.kind === "free" || overlay.added.includes(dotted)) return;
  if (kind.kind === "unknown") {
    const below = overlay.added.some((key) => key.startsWith(`${dotted}.`));
    const leaf = leavesOf(value, written)[0]?.path ?? written;
    if (!below || !isTree(value)) throw unknownKey(leaf, placeOf(leaf));
  }
  if (kind.kind === "value") {
    assertValue(written, kind.default, value, placeOf);
    return;
  }
  if (!isTree(value)) throw badValue(written, value, "a section with keys below it", placeOf);
  for (const [key, below] of Object.entries(value)) walk(overlay, [...path, key], below, placeOf);
}

/** The error for a key nobody knows, naming the nearest one that exists. */
export function unknownKey(path: readonly string[], place: ErrorPlace | null): ConfigError {
  const inEnvironment = path[0] === "genenv" && path[1] === "env" && path.length > 2;
  const key = inEnvironment ? path.slice(2).join(".") : path.join(".");
  const nearest = nearestName(key, allKeys());
  const name = nearest && inEnvironment ? `genenv.env.${nearest}` : nearest;
  const adding =
    path[0] === "genenv" && !inEnvironment
      ? ""
      : `; +${path.join(".")}=... adds a key that veRL's configuration lacks`;
  return new ConfigError(`unknown key ${path.join(".")}`, {
    code: "unknown-key",
    place,
    hint: name ? `did you mean ${name}?${adding}` : `no known key is like it${adding}`,
  });
}

const interpolation = /\$\{[^}]*\}/;

function assertValue(
  path: readonly string[],
  standard: unknown,
  value: unknown,
  placeOf: PlaceOf,
): void {
  if (value === null || standard === null) return;
  if (typeof value === "string" && interpolation.test(value)) return;
  if (isTree(standard)) {
    if (!isTree(value)) throw badValue(path, value, "a mapping", placeOf);
    return;
  }
  if (isTree(value)) throw badValue(path, value, "a value, not a section", placeOf);
  const expected = typeof standard;
  if ((expected === "number" || expected === "boolean") && typeof value !== expected) {
    const example = JSON.stringify(standard);
    throw badValue(path, value, `a ${expected} (veRL's default is ${example})`, placeOf);
  }
}

function badValue(
  path: readonly string[],
  value: unknown,
  wanted: string,
  placeOf: PlaceOf,
): ConfigError {
  return new ConfigError(`${path.join(".")} is ${JSON.stringify(value)}; it takes ${wanted}`, {
    code: "bad-value",
    place: placeOf(path),
    hint: "change the value at that place",
  });
}

function assertRefused(overlay: Overlay, placeOf: PlaceOf): void {
  for (const rule of refusedKeys) {
    if (rule.role && rule.role !== overlay.role) continue;
    const path = rule.key.split(".");
    const value = getAt(overlay.tree, path);
    if (value === undefined || (rule.refuses && !rule.refuses(value))) continue;
    const leaf = leavesOf(value, path)[0]?.path ?? path;
    throw refusedKey(rule, [...overlay.prefix, ...leaf], value, placeOf);
  }
}

function refusedKey(
  rule: RefusedKey,
  path: readonly string[],
  value: unknown,
  placeOf: PlaceOf,
): ConfigError {
  const shown = isTree(value) ? "" : `=${JSON.stringify(value)}`;
  return new ConfigError(`${path.join(".")}${shown} can have no effect in genenv: ${rule.reason}`, {
    code: "refused-key",
    place: placeOf(path),
    hint: "take that key out",
  });
}
