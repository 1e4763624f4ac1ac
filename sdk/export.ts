import { cpSync, existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { ConfigError, DataError } from "../bridge/errors.js";
import type { Role } from "../bridge/hooks/types.js";
import { putInPlace, syncToDisk } from "../bridge/whole-file.js";
import { findRun } from "./find-run.js";
import { bestCheckpoint, type Checkpoint, listCheckpoints } from "./run/checkpoints.js";

export interface ExportOptions {
  /** Default: agent. */
  role?: Role;
  /** Where to; it must not be there yet. */
  out: string;
  /** A checkpoint's epoch, or the one that was best on validation. Default: the newest. */
  epoch?: number | "best" | null;
  /** Relative paths and runs/ start here. Default: the process's folder. */
  cwd?: string;
}

export interface ExportedModel {
  /** Absolute: weights, configuration, tokenizer and chat template, as transformers has them. */
  dir: string;
  role: Role;
  epoch: number;
}

/** Copies a trained model out of a run, whole or not at all. */
export function exportModel(run: string, options: ExportOptions): ExportedModel {
  const { role = "agent", epoch = null, cwd = process.cwd() } = options;
  const { name, dir } = findRun(run, cwd);
  const checkpoint = chooseCheckpoint(name, dir, epoch);
  const model = join(checkpoint.dir, role);
  if (!existsSync(model)) {
    throw new DataError(`the run ${name} has no model of the role ${role}`, {
      code: "no-model",
      place: { file: checkpoint.dir },
      hint: "a run with genenv.enable=False, or with one model in both roles, has the agent's only",
    });
  }
  const out = resolve(cwd, options.out);
  copyWhole(model, out);
  return { dir: out, role, epoch: checkpoint.epoch };
}

function chooseCheckpoint(name: string, dir: string, epoch: number | "best" | null): Checkpoint {
  const all = listCheckpoints(dir);
  const chosen =
    epoch === "best"
      ? bestCheckpoint(dir)
      : epoch === null
        ? all.at(-1)
        : all.find((checkpoint) => checkpoint.epoch === epoch);
  if (chosen) return chosen;
  const wanted =
    epoch === null
      ? "complete checkpoint"
      : epoch === "best"
        ? "checkpoint with validation"
        : `checkpoint of epoch ${epoch}`;
  const there = all.map((checkpoint) => checkpoint.epoch).join(", ");
  throw new DataError(`the run ${name} has no ${wanted}`, {
    code: "no-checkpoint",
    place: { file: join(dir, "checkpoints") },
    hint: there
      ? `the epochs there are: ${there}`
      : "a run saves by trainer.save_freq and at its end",
  });
}

function copyWhole(from: string, out: string): void {
  if (existsSync(out)) {
    throw new ConfigError(`${out} is there already, and is not overwritten`, {
      code: "out-exists",
      place: { at: "--out" },
      hint: "give another folder, or remove that one",
    });
  }
  const part = `${out}.${process.pid}.part`;
  mkdirSync(dirname(out), { recursive: true });
  try {
    cpSync(from, part, { recursive: true });
    for (const entry of readdirSync(part, { recursive: true, withFileTypes: true })) {
      syncToDisk(join(entry.parentPath, entry.name));
    }
    putInPlace(part, out);
  } catch (error) {
    rmSync(part, { recursive: true, force: true });
    throw error;
  }
}
