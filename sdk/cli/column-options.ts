import type { Command } from "commander";
import type { ColumnNames } from "../data/row.js";

/** What a command says of a data file's columns, as commander gives it. */
export interface ColumnArguments {
  promptKey?: string;
  groundTruthKey?: string;
  dataSourceKey?: string;
  extraKey?: string[];
}

export function withColumnOptions(command: Command): Command {
  const collect = (text: string, before: string[] = []): string[] => [...before, text];
  return command
    .option("--prompt-key <column>", "the prompts' column (default: prompt or question)")
    .option(
      "--ground-truth-key <column>",
      "the ground truths' column, or a field in one: meta.answer (default: veRL's, ground_truth or answer)",
    )
    .option("--data-source-key <column>", "the data sources' column (default: data_source)")
    .option(
      "--extra-key <column>",
      "a column that goes to the hooks' extra; can be given several times",
      collect,
    );
}

/** The named columns; undefined where none is named. */
export function toColumnNames(given: ColumnArguments): ColumnNames | undefined {
  const names: ColumnNames = {
    ...(given.promptKey !== undefined && { promptKey: given.promptKey }),
    ...(given.groundTruthKey !== undefined && { groundTruthKey: given.groundTruthKey }),
    ...(given.dataSourceKey !== undefined && { dataSourceKey: given.dataSourceKey }),
    ...(given.extraKey !== undefined && { extraKeys: given.extraKey }),
  };
  return Object.keys(names).length === 0 ? undefined : names;
}
