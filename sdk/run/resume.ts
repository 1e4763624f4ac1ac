import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parse } from "yaml";
import { ConfigError } from "../../bridge/errors.js";
import { verlDefault } from "../config/keys.js";
import type { HookRole } from "../config/parts.js";
import { type ResolvedConfig, resolveConfig } from "../config/resolve.js";
import { genenvSchema } from "../config/schema.js";
import { getAt, isTree, leavesOf, type Tree } from "../config/tree.js";
import { toConfigTree } from "../config/write.js";
import { listCheckpoints } from "./checkpoints.js";

/**
 * What may differ when a run goes on: how long it lasts, what is saved, validated and logged, the hooks and their
 * limits, and how processes start. Everything else is what the saved state rests on. A key stands for all below it.
 */
export const mayChange: readonly string[] = [
  "trainer.total_epochs",
  "trainer.save_freq",
  "trainer.test_freq",
  "trainer.val_before_train",
  "trainer.max_actor_ckpt_to_keep",
  "trainer.logger",
  "trainer.project_name",
  "trainer.experiment_name",
  "trainer.default_local_dir",
  "trainer.resume_mode",
  "data.val_files",
  "actor_rollout_ref.rollout.val_kwargs",
  "actor_rollout_ref.rollout.gpu_memory_utilization",
  "genenv.keep_best",
  "genenv.hooks",
  "genenv.fast_start",
  "genenv.ray_address",
  "ray_kwargs",
];

/** The configuration of a run that goes on: its own config.yaml with overrides laid over it. */
export function resumeConfig(
  runDir: string,
  options: {
    overrides?: readonly string[];
    cwd?: string;
    hooksGiven?: readonly HookRole[];
  } = {},
): ResolvedConfig {
  const cwd = resolve(options.cwd ?? process.cwd());
  const dir = resolve(cwd, runDir);
  const file = join(dir, "config.yaml");
  if (!existsSync(file)) {
    throw new ConfigError(`there is no run in ${dir}: it has no config.yaml`, {
      code: "no-run",
      place: { file: dir },
      hint: "give the folder of a run, such as runs/NAME",
    });
  }
  const own = [
    `trainer.default_local_dir=${JSON.stringify(dir)}`,
    "trainer.resume_mode=auto",
    ...(options.overrides ?? []),
  ];
  return resolveConfig({ config: file, overrides: own, cwd, hooksGiven: options.hooksGiven });
}

/**
 * Throws ConfigError where a run can't go on: it has finished its epochs, or its configuration differs from that of
 * its newest checkpoint in more than may change. A run without a checkpoint begins anew, as it is configured now.
 */
export function assertCanResume(config: ResolvedConfig): void {
  const newest = listCheckpoints(config.runDir).at(-1);
  if (!newest) return;
  const total = Number(
    getAt(config.verl.agent, ["trainer", "total_epochs"]) ?? verlDefault("trainer.total_epochs"),
  );
  if (newest.epoch >= total) {
    throw new ConfigError(`the run ${config.name} has finished its ${total} epochs`, {
      code: "run-finished",
      place: { file: newest.dir },
      hint: `to go on with it, add trainer.total_epochs=${newest.epoch + total}`,
    });
  }
  const file = join(newest.dir, "config.yaml");
  if (!existsSync(file)) return;
  const changed = changedKeys(parse(readFileSync(file, "utf8")), toConfigTree(config));
  const refused = changed.filter(({ key }) => !mayChange.some((free) => covers(free, key)));
  if (refused.length > 0) throw changedError(config, refused);
}

function changedError(config: ResolvedConfig, refused: readonly Change[]): ConfigError {
  const list = refused.map(({ key, from, to }) => `${key} (${show(from)} -> ${show(to)})`);
  return new ConfigError(`the run can't go on with another ${list.join(", ")}`, {
    code: "resume-changed",
    place: config.placeOf((refused[0]?.key ?? "").split(".")) ?? { file: config.runDir },
    hint: `its saved state rests on that: put it back, or start a new run; what may change is ${mayChange.join(", ")}`,
  });
}

interface Change {
  key: string;
  from: unknown;
  to: unknown;
}

/** Keys whose values differ between two configurations as written; what one doesn't name has its default. */
export function changedKeys(before: unknown, after: unknown): Change[] {
  const [old, now] = [valuesOf(before), valuesOf(after)];
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((key) => {
    const from = old.has(key) ? old.get(key) : defaultOf(key);
    const to = now.has(key) ? now.get(key) : defaultOf(key);
    return JSON.stringify(from) === JSON.stringify(to) ? [] : [{ key, from, to }];
  });
}

function valuesOf(written: unknown): Map<string, unknown> {
  const tree: Tree = isTree(written) ? written : {};
  const leaves = leavesOf(tree).filter(({ value }) => !isTree(value));
  return new Map(leaves.map(({ path, value }) => [path.join("."), value]));
}

const genenvDefaults: Tree = { genenv: genenvSchema.parse({}) };

function defaultOf(key: string): unknown {
  const verl = key.startsWith("genenv.env.") ? undefined : verlDefault(key);
  return (verl === undefined ? getAt(genenvDefaults, key.split(".")) : verl) ?? null;
}

/** genenv.env has the same keys for the environment role. */
function covers(free: string, key: string): boolean {
  const plain = key.replace(/^genenv\.env\./, "");
  return plain === free || plain.startsWith(`${free}.`);
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? "none";
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
