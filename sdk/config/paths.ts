import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { isHubId } from "../../bridge/python/models.js";
import type { Assignment } from "./assignment.js";
import { isTree } from "./tree.js";
import { pathKeys } from "./verl-rules.js";

const environmentPrefix = "genenv.env.";
const modelKeys = new Set(["actor_rollout_ref.model.path", "env_model_path"]);
const hookKeys = new Set([
  "genenv.hooks.reward",
  "genenv.hooks.environment",
  "genenv.hooks.curriculum",
]);
const fileKeys = new Set(pathKeys);

/** An absolute path; `~/` is the home folder, and everything else starts at `baseDir`. */
export function toAbsolute(path: string, baseDir: string): string {
  return resolve(baseDir, path.replace(/^~(?=\/|$)/, homedir()));
}

/** A model as written, made absolute unless it is `builtin:NAME`, `agent` or a hub id that is no folder here. */
export function toModelPath(model: string, baseDir: string): string {
  if (model === "agent" || model.startsWith("builtin:")) return model;
  const path = toAbsolute(model, baseDir);
  return isHubId(model) && !existsSync(path) ? model : path;
}

/** A hook's file made absolute, with its `#export` kept; `builtin:NAME` stays. */
export function toHookPath(hook: string, baseDir: string): string {
  if (hook.startsWith("builtin:")) return hook;
  const [file = "", ...name] = hook.split("#");
  return [toAbsolute(file, baseDir), ...name].join("#");
}

/** The assignment with every path in it made absolute, from where it was written. */
export function withAbsolutePaths(assignment: Assignment): Assignment {
  const { path, value, baseDir } = assignment;
  return { ...assignment, value: absoluteIn(path, value, baseDir) };
}

function absoluteIn(path: string[], value: unknown, baseDir: string): unknown {
  if (isTree(value)) {
    const entries = Object.entries(value).map(([key, below]) => [
      key,
      absoluteIn([...path, key], below, baseDir),
    ]);
    return Object.fromEntries(entries);
  }
  const convert = converterOf(path.join("."));
  if (!convert) return value;
  const one = (item: unknown): unknown =>
    typeof item === "string" && item !== "" ? convert(item, baseDir) : item;
  return Array.isArray(value) ? value.map(one) : one(value);
}

type Converter = (text: string, baseDir: string) => string;

function converterOf(dotted: string): Converter | null {
  const key = dotted.startsWith(environmentPrefix)
    ? dotted.slice(environmentPrefix.length)
    : dotted;
  if (modelKeys.has(key)) return toModelPath;
  if (hookKeys.has(key)) return toHookPath;
  return fileKeys.has(key) ? toAbsolute : null;
}
