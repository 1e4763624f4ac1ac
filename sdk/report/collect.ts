import { getAt, type Tree } from "../config/tree.js";
import type { LoadedRun, RunRollout, RunTask } from "../load-run.js";
import { newPacker, type Packed, type PackLimits } from "./chunks.js";
import type { ReportRun, TaskColumns } from "./data.js";

/** A run as the page shows it. */
export async function collectRun(run: LoadedRun, limits?: PackLimits): Promise<ReportRun> {
  const packed = await packRollouts(run.rollouts(), limits);
  const alpha = getAt(run.config as Tree, ["genenv", "alpha"]);
  return {
    name: run.name,
    configText: run.configText,
    targetSuccess: typeof alpha === "number" ? alpha : null,
    metrics: run.metrics,
    tasks: toColumns(run.tasks, packed),
    chunks: packed.chunks,
    answerChunks: packed.answerChunks,
    rolloutsLeftOut: packed.leftOut,
  };
}

async function packRollouts(
  rollouts: AsyncIterable<RunRollout>,
  limits?: PackLimits,
): Promise<Packed> {
  const packer = newPacker(limits);
  for await (const rollout of rollouts) {
    if (rollout.phase !== "validation") packer.add(rollout);
  }
  return packer.finish();
}

function toColumns(tasks: readonly RunTask[], packed: Packed): TaskColumns {
  const texts = newPlaces<string>((text) => text);
  const lists = newPlaces<string[]>((list) => JSON.stringify(list));
  const place = (text: string | null): number => (text === null ? -1 : texts.placeOf(text));
  const columns = {
    epoch: tasks.map((task) => task.epoch),
    id: tasks.map((task) => task.task),
    source: tasks.map((task) => task.source),
    parent: tasks.map((task) => task.parent),
    seeds: tasks.map((task) => lists.placeOf(task.parentSeeds)),
    writtenEpoch: tasks.map((task) => task.writtenEpoch),
    prompt: tasks.map((task) => place(task.prompt)),
    groundTruth: tasks.map((task) => place(task.groundTruth)),
    answer: tasks.map((task) => place(task.answer)),
    reason: tasks.map((task) => place(task.reason)),
    successRate: tasks.map((task) => task.successRate),
    responses: tasks.map((task) => task.responses),
    scored: tasks.map((task) => task.scored),
    reward: tasks.map((task) => task.reward),
    trained: tasks.map((task) => task.trained),
    kept: tasks.map((task) => task.kept),
    chunk: tasks.map((task) => packed.chunkOf(task.epoch, task.task)),
  };
  return { texts: texts.values, seedLists: lists.values, ...columns };
}

interface Places<T> {
  values: T[];
  placeOf(value: T): number;
}

/** Values kept once each, by their place. */
function newPlaces<T>(keyOf: (value: T) => string): Places<T> {
  const values: T[] = [];
  const known = new Map<string, number>();
  return {
    values,
    placeOf(value) {
      const key = keyOf(value);
      const found = known.get(key);
      if (found !== undefined) return found;
      known.set(key, values.length);
      return values.push(value) - 1;
    },
  };
}
