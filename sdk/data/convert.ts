import { existsSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { ConfigError, DataError } from "../../bridge/errors.js";
import type { DatasetRow } from "./define.js";
import { streamDataFile } from "./read.js";
import { type ColumnNames, isProblem } from "./row.js";
import { chooseRows, type Side } from "./select.js";
import { writeDataset } from "./write.js";

export interface ConvertOptions extends ColumnNames {
  /** A .parquet file; with `split`, a folder for train.parquet and val.parquet. */
  out: string;
  split: number | null;
  sample: number | null;
  seed: number;
  /** Leave out rows that can't be used, where there are any, instead of stopping. */
  drop: boolean;
  /** Write over files that are there. */
  force: boolean;
}

/**
 * Writes the rows of the files, in order, as Parquet in veRL's layout. `groups` is the report's. Rows of one prompt
 * go to one side of a split. Throws DataError for a row that can't be used, ConfigError for a file that is there.
 */
export async function convertFiles(
  files: readonly string[],
  groups: readonly (number | null)[],
  options: ConvertOptions,
): Promise<{ file: string; rows: number }[]> {
  const bad = groups.indexOf(null);
  if (bad >= 0 && !options.drop) throw unusableError(groups);
  const targets = toTargets(options);
  for (const { file } of targets) assertFree(file, files, options.force);
  const usable = groups.filter((group) => group !== null);
  const chosen = chooseRows(usable, options);
  let next = 0;
  const sides = groups.map((group) => (group === null ? null : (chosen[next++] ?? null)));
  const written: { file: string; rows: number }[] = [];
  for (const { file, side } of targets) {
    const { rows } = await writeDataset(rowsOf(files, sides, side, options), file);
    written.push({ file, rows });
  }
  return written;
}

function toTargets({ out, split }: ConvertOptions): { file: string; side: Side }[] {
  if (split === null) return [{ file: out, side: "train" }];
  return [
    { file: join(out, "train.parquet"), side: "train" },
    { file: join(out, "val.parquet"), side: "val" },
  ];
}

function assertFree(file: string, inputs: readonly string[], force: boolean): void {
  if (!existsSync(file) || (force && !inputs.includes(file))) return;
  throw new ConfigError(`${file} is there already`, {
    code: "file-exists",
    hint: inputs.includes(file)
      ? "it is one of the files that are read: write to another"
      : "give another --out, or --force to write over it",
  });
}

function unusableError(groups: readonly (number | null)[]): DataError {
  const count = groups.filter((group) => group === null).length;
  return new DataError(`${count} of ${groups.length} rows can't be used, so nothing is written`, {
    code: "bad-row",
    hint: "mend the rows that are named above, or leave them out with --drop",
  });
}

async function* rowsOf(
  files: readonly string[],
  sides: readonly Side[],
  side: Side,
  names: ColumnNames,
): AsyncGenerator<DatasetRow> {
  let index = 0;
  for (const file of files) {
    const name = basename(file, extname(file));
    for await (const row of streamDataFile(file, names)) {
      if (sides[index++] !== side || isProblem(row)) continue;
      const { prompt, groundTruth, extra } = row;
      yield {
        prompt,
        groundTruth,
        extra,
        dataSource: row.dataSource ?? name,
        ability: row.ability ?? "text",
      };
    }
  }
}
