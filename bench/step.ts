import { peerPython, trl } from "./peer.js";
import { readOptions } from "./train/options.js";
import { median, ratioInterval } from "./train/statistics.js";
import { genenvRun, plainVerl, trlRun, type Workload } from "./train/systems.js";
import { timeline } from "./train/timeline.js";
import { stepsOfGenenv, stepsOfPlain, stepsOfTrl } from "./train/times.js";

/** The first steps warm caches up. */
const warmUp = 2;

const systems = {
  genenv: async (work) => stepsOfGenenv(await timeline(genenvRun(work, false))),
  "plain-verl": async (work) => stepsOfPlain(await timeline(plainVerl(work, "default"))),
  "plain-verl-our-settings": async (work) => stepsOfPlain(await timeline(plainVerl(work, "ours"))),
  trl: async (work) => stepsOfTrl(await timeline(trlRun(work, peerPython(trl(work.python))))),
} satisfies Record<string, (work: Workload) => Promise<number[]>>;

/**
 * `npm run bench:step [-- --json] [-- --model NAME] [-- --rounds N --steps N --prompts N --responses N]
 * [-- --against NAME,NAME]`: seconds of an agent's step (rollout, scoring, update), in blocks of steps that take turns:
 * genenv with a TypeScript reward, and plain veRL (as it is, and with genenv's settings) and TRL with it in Python.
 */
export async function main(args: readonly string[], root: string): Promise<number> {
  const defaults = { model: "builtin:tiny", rounds: 2, steps: 13, prompts: 8, responses: 4 };
  const { json, rounds, model, against, withWorkload } = await readOptions(args, root, defaults);
  const chosen = Object.entries(systems).filter(
    ([name]) => name === "genenv" || !against || against.includes(name),
  );
  const seconds = new Map<string, number[]>();
  for (let round = 0; round < rounds; round++) {
    for (const [name, measure] of chosen) {
      const steps = (await withWorkload(measure)).slice(warmUp);
      seconds.set(name, [...(seconds.get(name) ?? []), ...steps]);
    }
  }
  const ours = seconds.get("genenv") ?? [];
  for (const [name, theirs] of [...seconds].filter(([system]) => system !== "genenv")) {
    const ratio = median(theirs) / median(ours);
    const [low, high] = ratioInterval(theirs, ours);
    const medians = { genenvSeconds: median(ours), otherSeconds: median(theirs) };
    const counts = { genenvSteps: ours.length, otherSteps: theirs.length };
    const line = { name: `step-vs-${name}`, ratio, low, high, model, ...medians, ...counts };
    if (json) console.log(JSON.stringify(line));
    else {
      const interval = `${low.toFixed(2)} to ${high.toFixed(2)}`;
      console.log(
        `${model}: ${median(ours).toFixed(2)} s a step; ${name} ${median(theirs).toFixed(2)} s: ${ratio.toFixed(2)} times as long (95 %: ${interval})`,
      );
    }
  }
  return 0;
}
