import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface Checkpoint {
  epoch: number;
  /** Absolute. */
  dir: string;
}

/** The complete checkpoints of a run by epoch; drafts are not looked at. */
export function listCheckpoints(runDir: string): Checkpoint[] {
  const folder = join(runDir, "checkpoints");
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .flatMap((name) => {
      const epoch = /^epoch-(0|[1-9]\d*)$/.exec(name)?.[1];
      return epoch === undefined ? [] : [{ epoch: Number(epoch), dir: join(folder, name) }];
    })
    .filter(({ dir }) => existsSync(join(dir, "state.json")))
    .sort((a, b) => a.epoch - b.epoch);
}

/** Success on validation of just these weights, from 0 to 1; null where they were not validated. */
export function validationSuccess({ dir }: Checkpoint): number | null {
  const file = join(dir, "validation.json");
  if (!existsSync(file)) return null;
  const values = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
  const success = values["val/success_rate"];
  return typeof success === "number" ? success : null;
}

/** The checkpoint with the highest success on validation, the newest of equals; null where none was validated. */
export function bestCheckpoint(runDir: string): Checkpoint | null {
  const known = listCheckpoints(runDir).flatMap((checkpoint) => {
    const success = validationSuccess(checkpoint);
    return success === null ? [] : [{ checkpoint, success }];
  });
  known.sort((a, b) => a.success - b.success || a.checkpoint.epoch - b.checkpoint.epoch);
  return known.at(-1)?.checkpoint ?? null;
}
