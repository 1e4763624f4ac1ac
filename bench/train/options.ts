import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { resolveModel } from "../../bridge/python/models.js";
import { findReady } from "../../bridge/python/setup.js";
import type { Workload } from "./systems.js";

export interface TrainBench {
  json: boolean;
  rounds: number;
  /** Names of the other systems, where only some are wanted. */
  against?: string[];
  /** Hands `measure` a workload with a folder of its own, and removes that. */
  withWorkload<T>(measure: (work: Workload) => Promise<T>): Promise<T>;
  model: string;
}

/** `[--json] [--model NAME] [--rounds N] [--steps N] [--prompts N] [--responses N] [--against NAME,NAME]`. */
export async function readOptions(
  args: readonly string[],
  root: string,
  defaults: { model: string; rounds: number; steps: number; prompts: number; responses: number },
): Promise<TrainBench> {
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      json: { type: "boolean" },
      model: text,
      rounds: text,
      steps: text,
      prompts: text,
      responses: text,
      against: text,
    },
  });
  const python = findReady()?.python;
  if (!python) throw new Error("the Python environment is not set up: npx genenv setup");
  const model = values.model ?? defaults.model;
  const folder = await resolveModel(model, { python, baseDir: root });
  const count = (name: "rounds" | "steps" | "prompts" | "responses"): number =>
    Number(values[name] ?? defaults[name]);
  const workload = {
    root,
    python,
    model: { name: model, folder },
    steps: count("steps"),
    prompts: count("prompts"),
    responses: count("responses"),
  };
  return {
    json: values.json ?? false,
    rounds: count("rounds"),
    model,
    ...(values.against && { against: values.against.split(",") }),
    withWorkload: async (measure) => {
      // Short: Ray's sockets lie in it.
      const own = mkdtempSync(join("/tmp", "gb-"));
      try {
        return await measure({ ...workload, folder: own });
      } finally {
        rmSync(own, { recursive: true, force: true });
      }
    },
  };
}
