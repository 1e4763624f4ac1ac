import { readOptions } from "./train/options.js";
import { median, ratioInterval } from "./train/statistics.js";
import { genenvRun, plainVerl, type Workload } from "./train/systems.js";
import { timeline } from "./train/timeline.js";
import { firstAnswersOfPlain, isEvent } from "./train/times.js";

/**
 * `npm run bench:start [-- --json] [-- --model NAME] [-- --rounds N]`: from the command to the first answers. genenv has
 * both roles up by then and the answers are the environment model's; plain veRL has the one role it knows.
 */
export async function main(args: readonly string[], root: string): Promise<number> {
  const defaults = { model: "builtin:tiny", rounds: 2, steps: 1, prompts: 8, responses: 4 };
  const { json, rounds, model, withWorkload } = await readOptions(args, root, defaults);
  const genenv: number[] = [];
  const plain: number[] = [];
  for (let round = 0; round < rounds; round++) {
    genenv.push(await withWorkload(startOfGenenv));
    plain.push(await withWorkload(startOfPlain));
  }
  const ratio = median(plain) / median(genenv);
  const [low, high] = ratioInterval(plain, genenv);
  if (json) {
    const figures = { model, low, high, genenvSeconds: genenv, plainSeconds: plain };
    console.log(JSON.stringify({ name: "start-both-roles-vs-plain-verl", ratio, ...figures }));
  } else {
    const list = (values: number[]): string => values.map((value) => value.toFixed(0)).join(", ");
    console.log(`${model}: first answers of genenv run, both roles up, after ${list(genenv)} s`);
    console.log(
      `plain veRL's, one role, after ${list(plain)} s: ${ratio.toFixed(2)} times as long`,
    );
  }
  return 0;
}

async function startOfGenenv(work: Workload): Promise<number> {
  let answered: number | null = null;
  await timeline(genenvRun(work, true), [0, 1], ({ seconds, text }, child) => {
    // The answers are there: they are being parsed.
    if (answered !== null || !isEvent(text, { type: "phase", phase: "parse" })) return;
    answered = seconds;
    child.kill("SIGINT");
  });
  if (answered === null) throw new Error("genenv run gave no answer");
  return answered;
}

const startOfPlain = async (work: Workload): Promise<number> =>
  firstAnswersOfPlain(await timeline(plainVerl(work, "default")));
