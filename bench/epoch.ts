import { readdirSync } from "node:fs";
import { join } from "node:path";
import { readOptions } from "./train/options.js";
import { median } from "./train/statistics.js";
import { genenvRun, plainVerl, type Workload } from "./train/systems.js";
import { timeline } from "./train/timeline.js";
import { stepsOfGenenv } from "./train/times.js";

/**
 * `npm run bench:epoch [-- --json] [-- --model NAME] [-- --rounds N --steps N]`: seconds of an epoch of one step. genenv
 * keeps both roles up, and its epoch holds the environment model's rollout and update too. The other way makes a new
 * trainer in each epoch and hands the agent's weights on through the disk; its environment's part is not counted.
 */
export async function main(args: readonly string[], root: string): Promise<number> {
  const defaults = { model: "builtin:tiny", rounds: 2, steps: 8, prompts: 8, responses: 4 };
  const { json, rounds, model, withWorkload } = await readOptions(args, root, defaults);
  const ours = await withWorkload(async (work) =>
    stepsOfGenenv(await timeline(genenvRun(work, true))),
  );
  const theirs = await withWorkload((work) => newTrainers(work, rounds));
  const ratio = median(theirs) / median(ours);
  if (json) {
    const figures = { model, genenvSeconds: ours, newTrainerSeconds: theirs };
    console.log(JSON.stringify({ name: "epoch-vs-new-trainer", ratio, ...figures }));
  } else {
    const theirsText = theirs.map((seconds) => seconds.toFixed(0)).join(", ");
    console.log(`${model}: genenv's epoch of both roles ${median(ours).toFixed(1)} s;`);
    console.log(`a new trainer for the agent alone ${theirsText} s: ${ratio.toFixed(1)} times`);
  }
  return 0;
}

/** Plain veRL from its command to its end, once an epoch, each from the weights that the last one wrote. */
async function newTrainers(work: Workload, epochs: number): Promise<number[]> {
  const seconds: number[] = [];
  let model = work.model;
  for (let epoch = 1; epoch <= epochs; epoch++) {
    const folder = join(work.folder, `${epoch}`);
    const { program, args, env } = plainVerl({ ...work, model, steps: 1, folder }, "ours");
    const saved = [
      "trainer.save_freq=1",
      "actor_rollout_ref.actor.checkpoint.save_contents=[hf_model]",
    ];
    const command = { program, args: [...args, ...saved], env, cwd: work.folder };
    const since = performance.now();
    await timeline(command);
    seconds.push((performance.now() - since) / 1000);
    model = { ...model, folder: savedModel(join(folder, "checkpoints")) };
  }
  return seconds;
}

/** The folder of the only step's weights in the form that transformers loads. */
function savedModel(checkpoints: string): string {
  const found = readdirSync(checkpoints, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(join("huggingface", "model.safetensors")))
    .map((path) => join(checkpoints, path, ".."));
  if (found.length !== 1) throw new Error(`plain veRL wrote ${found.length} models, not one`);
  return found[0] as string;
}
