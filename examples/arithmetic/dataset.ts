import { join } from "node:path";
import { type Dataset, defineDataset, writeDataset } from "genenv";
import { heldOutSums, type Sum, sumPrompt, trainSums } from "./sums.js";

function toDataset(sums: readonly Sum[]): Dataset {
  return defineDataset({
    name: "arithmetic",
    ability: "math",
    items: sums,
    toRow: (sum) => ({
      prompt: sumPrompt(sum),
      groundTruth: String(sum.a + sum.b),
      extra: { ...sum },
    }),
  });
}

/** Writes train.parquet (57 sums) and val.parquet (24 others) into a folder. */
export async function makeData(folder: string): Promise<void> {
  await writeDataset(toDataset(trainSums), join(folder, "train.parquet"));
  await writeDataset(toDataset(heldOutSums), join(folder, "val.parquet"));
}
