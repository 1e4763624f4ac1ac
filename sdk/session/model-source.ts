import { existsSync, readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { ConfigError } from "../../bridge/errors.js";

const checkpointName = /^epoch-(0|[1-9][0-9]*)$/;

/**
 * The model to load: of a run's folder its last checkpoint's agent, of a checkpoint its agent, everything else as it
 * is. Throws ConfigError where a run has no checkpoint yet.
 */
export function toModelFolder(model: string, cwd: string): string {
  if (model.startsWith("builtin:")) return model;
  const folder = resolve(cwd, model);
  if (!isFolder(folder) || existsSync(join(folder, "config.json"))) return model;
  if (isCheckpoint(folder)) return join(folder, "agent");
  const isRun = ["config.yaml", "checkpoints", "metrics.jsonl"].some((name) =>
    existsSync(join(folder, name)),
  );
  return isRun ? lastAgent(folder) : model;
}

function lastAgent(run: string): string {
  const checkpoints = join(run, "checkpoints");
  const epochs = (existsSync(checkpoints) ? readdirSync(checkpoints) : [])
    .flatMap((name) => checkpointName.exec(name)?.[1] ?? [])
    .filter((epoch) => isCheckpoint(join(checkpoints, `epoch-${epoch}`)))
    .map(Number);
  if (epochs.length > 0) return join(checkpoints, `epoch-${Math.max(...epochs)}`, "agent");
  throw new ConfigError("the run has no checkpoint yet", {
    code: "no-checkpoint",
    place: { file: run },
    hint: "let it reach one (trainer.save_freq), or give a model's folder",
  });
}

/** A checkpoint gets its state last, so one without it is a draft. */
const isCheckpoint = (folder: string): boolean =>
  existsSync(join(folder, "state.json")) && isFolder(join(folder, "agent"));

const isFolder = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
