import { join } from "node:path";
import { type Dataset, defineDataset, writeDataset } from "genenv";
import { heldOutRequests, type Request, toPrompt, trainRequests } from "./requests.js";
import { goldCall } from "./reward.js";

function toDataset(requests: readonly Request[]): Dataset {
  return defineDataset({
    name: "tool-calling",
    ability: "tools",
    groundTruth: goldCall,
    items: requests,
    toRow: ({ text, call }) => ({ prompt: toPrompt(text), groundTruth: JSON.stringify(call) }),
  });
}

/** Writes train.parquet (36 requests) and val.parquet (12 others) into a folder. */
export async function makeData(folder: string): Promise<void> {
  await writeDataset(toDataset(trainRequests), join(folder, "train.parquet"));
  await writeDataset(toDataset(heldOutRequests), join(folder, "val.parquet"));
}
