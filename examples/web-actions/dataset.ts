import { join } from "node:path";
import { type Dataset, defineDataset, writeDataset } from "genenv";
import { type Goal, heldOutGoals, toPrompt, trainGoals } from "./pages.js";
import reward from "./reward.js";

function toDataset(goals: readonly Goal[]): Dataset {
  return defineDataset({
    name: "web-actions",
    ability: "web",
    groundTruth: reward.groundTruth,
    items: goals,
    toRow: (goal) => ({ prompt: toPrompt(goal), groundTruth: goal.action }),
  });
}

/** Writes train.parquet (28 goals) and val.parquet (14 on other pages) into a folder. */
export async function makeData(folder: string): Promise<void> {
  await writeDataset(toDataset(trainGoals), join(folder, "train.parquet"));
  await writeDataset(toDataset(heldOutGoals), join(folder, "val.parquet"));
}
