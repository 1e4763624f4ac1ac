import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { ConfigError } from "../../bridge/errors.js";
import { getAt, type Tree } from "./tree.js";

export interface RunFolder {
  name: string;
  /** Absolute. */
  runDir: string;
  /** True where the folder holds a run that goes on (trainer.resume_mode). */
  resume: boolean;
}

const namePattern = /^[A-Za-z0-9][\w.-]{0,199}$/;

/**
 * The run's name and folder: `trainer.default_local_dir`, else runs/NAME. NAME is the one asked for, else
 * trainer.experiment_name, else the folder's, else date and time. Throws where another run is there already.
 */
export function chooseRunFolder(
  agent: Tree,
  options: { name: string | null; cwd: string; now: Date },
): RunFolder {
  const given = textAt(agent, "default_local_dir");
  const asked = options.name ?? textAt(agent, "experiment_name");
  const runs = join(options.cwd, "runs");
  const name = asked ?? (given ? basename(given) : freeStamp(options.now, runs));
  if (!namePattern.test(name)) throw badName(name);
  const runDir = given ?? join(runs, name);
  const mode = textAt(agent, "resume_mode") ?? "disable";
  const resume = mode !== "disable" && existsSync(join(runDir, "config.yaml"));
  if (!resume && isFilled(runDir)) throw runExists(name, runDir);
  return { name, runDir, resume };
}

function textAt(agent: Tree, key: string): string | null {
  const value = getAt(agent, ["trainer", key]);
  return typeof value === "string" && value !== "" ? value : null;
}

function freeStamp(now: Date, runs: string): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = [now.getFullYear(), two(now.getMonth() + 1), two(now.getDate())].join("-");
  const stamp = `${day}_${[now.getHours(), now.getMinutes(), now.getSeconds()].map(two).join("-")}`;
  for (let count = 1; ; count++) {
    const name = count === 1 ? stamp : `${stamp}-${count}`;
    if (!existsSync(join(runs, name))) return name;
  }
}

function isFilled(folder: string): boolean {
  return existsSync(folder) && readdirSync(folder).length > 0;
}

function badName(name: string): ConfigError {
  return new ConfigError(`${JSON.stringify(name)} can't name a run`, {
    code: "bad-name",
    hint: "use letters, digits, dots, dashes and underscores, beginning with a letter or a digit",
  });
}

function runExists(name: string, runDir: string): ConfigError {
  return new ConfigError(`the run ${name} is there already, and a run is never overwritten`, {
    code: "run-exists",
    place: { file: runDir },
    hint: `give another --name, remove that folder, or go on with it: npx genenv resume ${runDir}`,
  });
}
