import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { compileHook } from "../../bridge/hooks/bundle.js";
import { packageRoot } from "../../bridge/python/paths.js";
import type { ColumnNames } from "../data/row.js";
import { rewardModule } from "../run/hook-modules.js";
import type { Sampling } from "../session/settings.js";
import type { EvalIdentity } from "./result-file.js";
import type { EvalOptions } from "./types.js";

export interface IdentityOptions {
  modelPath: string;
  dataFile: string;
  columns?: ColumnNames | undefined;
  reward: EvalOptions["reward"];
  n: number;
  sampling: Sampling;
  projectDir: string;
}

/** What an evaluation is of: the same words only for the same model, data, reward and sampling. */
export async function toIdentity(options: IdentityOptions): Promise<EvalIdentity> {
  const { modelPath, dataFile, columns, reward, n, sampling, projectDir } = options;
  return {
    model: modelPath,
    weights: weightsWord(modelPath),
    data: digest(readFileSync(dataFile)),
    ...(columns && { columns: JSON.stringify(columns) }),
    reward: rewardName(reward),
    rewardCode: await rewardWord(reward, projectDir),
    n,
    sampling: JSON.stringify(sampling),
  };
}

/** A reward in words: as it was given, or its name. */
export function rewardName(reward: EvalOptions["reward"]): string {
  return typeof reward === "string" ? reward : reward.name;
}

/** Names, sizes and times of a model's files: reading gigabytes of weights would take too long. */
function weightsWord(folder: string): string {
  const isFolder = statSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? false;
  if (!isFolder) return "hub";
  const files = readdirSync(folder).sort();
  const facts = files.map((name) => {
    const { size, mtimeMs } = statSync(join(folder, name));
    return [name, size, mtimeMs];
  });
  return digest(JSON.stringify(facts));
}

/** A file's code with all that it imports of the project; a value's own source. */
async function rewardWord(reward: EvalOptions["reward"], projectDir: string): Promise<string> {
  if (typeof reward === "function") return digest(reward.toString());
  if (typeof reward !== "string") return digest(reward.score.toString());
  if (reward.startsWith("builtin:")) return `genenv ${packageVersion()}`;
  const module = rewardModule(reward);
  if (module.kind !== "file") return reward;
  const { file, exportName } = await compileHook(module, projectDir);
  return `${exportName} ${digest(readFileSync(file))}`;
}

/** A built-in reward's code is this package's. */
function packageVersion(): string {
  const text = readFileSync(join(packageRoot(), "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

const digest = (content: string | Buffer): string =>
  createHash("sha256").update(content).digest("hex").slice(0, 16);
