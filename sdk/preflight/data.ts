import { basename, extname, join } from "node:path";
import type { RewardHook } from "../../bridge/hooks/types.js";
import type { ResolvedConfig } from "../config/resolve.js";
import { getAt } from "../config/tree.js";
import { type DataFile, readDataFile, rowError } from "../data/read.js";
import type { ColumnNames } from "../data/row.js";
import { schemaProblem } from "../data/truth-check.js";
import { writeDataset } from "../data/write.js";

export interface RunData {
  train: DataFile[];
  validation: DataFile[];
}

/** Every row of a run's data files; throws DataError at the first file that can't be used. */
export async function readRunData(config: ResolvedConfig): Promise<RunData> {
  const names = columnNames(config);
  const read = async (files: string[]): Promise<DataFile[]> => {
    const all: DataFile[] = [];
    for (const file of files) all.push(await readDataFile(file, names));
    return all;
  };
  const { train, validation } = config.dataFiles;
  return { train: await read(train), validation: await read(validation) };
}

/** The columns that a configuration names, by veRL's own keys and by genenv.data. */
function columnNames({ verl, genenv }: ResolvedConfig): ColumnNames {
  const verlKey = (key: string): string | undefined => {
    const name = getAt(verl.agent, ["data", key]);
    return typeof name === "string" ? name : undefined;
  };
  return {
    promptKey: verlKey("prompt_key"),
    dataSourceKey: verlKey("reward_fn_key"),
    groundTruthKey: genenv.data.ground_truth_key ?? undefined,
    extraKeys: genenv.data.extra_keys,
  };
}

/** Throws where the reward's schema refuses a row's ground truth, by row. */
export function assertGroundTruths(files: readonly DataFile[], reward: RewardHook): void {
  for (const { file, rows, layout } of files) {
    const problems = rows.flatMap(({ groundTruth }, index) => {
      const problem = schemaProblem(reward, groundTruth);
      if (problem === null) return [];
      return [{ row: index + 1, column: layout.groundTruth, problem }];
    });
    if (problems.length > 0) throw rowError(file, problems);
  }
}

/**
 * The files the training loop reads: veRL's nested Parquet as it is, everything else written as such below the
 * run's folder.
 */
export async function toVerlFiles(files: readonly DataFile[], folder: string): Promise<string[]> {
  const paths: string[] = [];
  for (const [index, { file, rows, nested }] of files.entries()) {
    if (nested) {
      paths.push(file);
      continue;
    }
    const name = basename(file, extname(file));
    const path = join(folder, `${index}-${name}.parquet`);
    const dataset = {
      name,
      ability: "text",
      groundTruth: null,
      rows: rows.map(({ prompt, groundTruth, dataSource, ability, extra }) => ({
        prompt,
        groundTruth,
        extra,
        ...(dataSource !== null && { dataSource }),
        ...(ability !== null && { ability }),
      })),
    };
    await writeDataset(dataset, path);
    paths.push(path);
  }
  return paths;
}
