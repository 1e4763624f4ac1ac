import { join } from "node:path";
import { type Dataset, defineDataset, writeDataset } from "genenv";
import { z } from "zod";
import { heldOutProblems, type Problem, trainProblems } from "./problems.js";

function toDataset(problems: readonly Problem[]): Dataset {
  return defineDataset({
    name: "math",
    ability: "math",
    groundTruth: z.string().min(1),
    items: problems,
    toRow: ({ prompt, answer }) => ({ prompt, groundTruth: answer }),
  });
}

/** Writes train.parquet (64 problems) and val.parquet (16 others) into a folder. */
export async function makeData(folder: string): Promise<void> {
  await writeDataset(toDataset(trainProblems), join(folder, "train.parquet"));
  await writeDataset(toDataset(heldOutProblems), join(folder, "val.parquet"));
}
