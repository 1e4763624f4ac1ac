import { join } from "node:path";
import { type Dataset, defineDataset, writeDataset } from "genenv";
import reward from "./reward.js";

const words = ["tea", "rain", "lamp", "stone", "bread", "cloud", "river", "table", "green", "door"];

/** Tasks to begin with: put yours here. */
function toDataset(items: readonly string[]): Dataset {
  return defineDataset({
    name: "blank",
    groundTruth: reward.groundTruth,
    items,
    toRow: (word) => ({ prompt: `Repeat this word: ${word}`, groundTruth: word }),
  });
}

/** Writes train.parquet (8 tasks) and val.parquet (2 others) into a folder. */
export async function makeData(folder: string): Promise<void> {
  await writeDataset(toDataset(words.slice(0, 8)), join(folder, "train.parquet"));
  await writeDataset(toDataset(words.slice(8)), join(folder, "val.parquet"));
}
