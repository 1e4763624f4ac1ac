import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { DataError } from "../bridge/errors.js";

export interface RunPlace {
  name: string;
  /** Absolute. */
  dir: string;
}

const marks = ["metrics.jsonl", "config.yaml", "run.json"];

/** True for a folder that a run has written to. */
export function isRunFolder(dir: string): boolean {
  return marks.some((name) => existsSync(join(dir, name)));
}

/** The runs in runs/ below `cwd`, by name. */
export function listRuns(cwd: string = process.cwd()): RunPlace[] {
  const runs = join(cwd, "runs");
  if (!existsSync(runs)) return [];
  return readdirSync(runs)
    .sort()
    .map((name) => ({ name, dir: join(runs, name) }))
    .filter(({ dir }) => isRunFolder(dir));
}

/** The run of this name in runs/, or in this folder. Throws DataError, naming the runs there are. */
export function findRun(nameOrDir: string, cwd: string = process.cwd()): RunPlace {
  const places = [join(cwd, "runs", nameOrDir), resolve(cwd, nameOrDir)];
  const dir = places.find((place) => isFolder(place) && isRunFolder(place));
  if (dir) return { name: basename(dir), dir };
  const names = listRuns(cwd).map(({ name }) => name);
  throw new DataError(`there is no run ${JSON.stringify(nameOrDir)}`, {
    code: "run-missing",
    place: { file: join(cwd, "runs") },
    hint:
      names.length > 0
        ? `the runs there are: ${names.slice(-10).join(", ")}`
        : "start one with genenv run; runs are looked for in runs/ below this folder",
  });
}

const isFolder = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
