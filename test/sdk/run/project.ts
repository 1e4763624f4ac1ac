import { join } from "node:path";
import { writeDataset } from "../../../sdk/data/write.js";
import { tempFolder } from "../temp.js";

export const projectYaml = `\
actor_rollout_ref:
  model: {path: builtin:tiny}
  actor: {ppo_mini_batch_size: 2}
  rollout: {n: 2}
data: {train_files: train.parquet, val_files: val.jsonl, train_batch_size: 4}
trainer: {total_epochs: 2}
genenv:
  num_generations_per_prompt: 2
  hooks: {reward: ./reward.ts, environment: ./environment.ts}
`;

const reward = `\
import { defineReward } from "genenv";
import { z } from "zod";
export default defineReward({
  name: "digits",
  groundTruth: z.string().regex(/^\\\\d+$/),
  score: ({ response, groundTruth }) => (response === groundTruth ? 1 : 0),
});
`.replaceAll("\\\\", "\\");

const environment = `\
import { accept, defineEnvironment } from "genenv";
import { z } from "zod";
export default defineEnvironment({
  name: "e",
  task: z.object({ prompt: z.string(), groundTruth: z.string() }),
  prompt: () => [{ role: "user", content: "a task" }],
  parse: ({ answer }) => [accept({ prompt: answer, groundTruth: "1" })],
});
`;

/** A whole small project in a temporary folder, as a user has it. */
export async function tempProject(files: Record<string, string> = {}): Promise<string> {
  const folder = tempFolder({
    "my.yaml": projectYaml,
    "reward.ts": reward,
    "environment.ts": environment,
    "val.jsonl": '{"question":"1 + 1?","answer":"2"}\n',
    ...files,
  });
  const row = { prompt: "What is 1 + 2?", groundTruth: "3" };
  if (!files["train.parquet"]) await writeDataset([row, row, row], join(folder, "train.parquet"));
  return folder;
}
