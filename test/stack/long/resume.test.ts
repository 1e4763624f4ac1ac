/**
 * Real runs that are killed with SIGKILL, whole process tree, and go on: one in each phase in turn, and short ones whose
 * restored state and next batch are looked at. GENENV_KILL_PHASES=parse,checkpoint tries only some phases.
 */
import type { ChildProcess } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { exportModel } from "../../../sdk/export.js";
import { listCheckpoints } from "../../../sdk/run/checkpoints.js";
import { runPython, testPython } from "../../python-env.js";
import { commandOf, type Event, familyOf, killAll, nameOf, tinyRun } from "../stopping.js";
import { type Finished, genenv, problem, query } from "./cli.js";

const runs = mkdtempSync(join(tmpdir(), "genenv-stack-"));
afterAll(() => rmSync(runs, { recursive: true, force: true }));

const allPhases = [
  "environment-rollout",
  "parse",
  "agent-rollout",
  "agent-update",
  "environment-update",
  "epoch-end",
  "checkpoint",
  // The epoch's checkpoint is there, and nothing of the next has begun.
  "saved",
];
const phases = process.env.GENENV_KILL_PHASES?.split(",") ?? allPhases;
// Each process finishes one epoch and is killed in the next; the last one ends with an epoch of its own.
const epochs = phases.length + 2;

const start = (dir: string, total: number, ...more: string[]): string[] => [
  ...tinyRun,
  "actor_rollout_ref.actor.optim.lr=1e-3",
  `trainer.total_epochs=${total}`,
  `trainer.default_local_dir=${dir}`,
  ...more,
];

const isIn = (event: Event, phase: string, epoch: number): boolean =>
  event.epoch === epoch &&
  (phase === "saved" ? event.type === "checkpoint" : event.phase === phase);

/** Runs until that phase of that epoch, and kills everything there: all its processes are gone soon after. */
async function killed(args: string[], phase: string, epoch: number): Promise<Finished> {
  const family: string[] = [];
  const run = await genenv(args, {
    onEvent: (event, child) => {
      if (family.length > 0 || !isIn(event, phase, epoch)) return;
      if (phase === "checkpoint") waitForDraft(epoch);
      family.push(...familyOf(child).map(nameOf));
      killAll(child);
    },
  });
  expect(family.length, problem(run)).toBeGreaterThan(10);
  // Some runs are killed before the tests begin, where expect.poll can't be called.
  await vi.waitFor(() => expect(family.filter(isAlive)).toEqual([]), { timeout: 10_000 });
  return run;
}

/** Zombies have no command line. */
function isAlive(name: string): boolean {
  const pid = Number(name.split(" ")[0]);
  return nameOf(pid) === name && commandOf(pid) !== "";
}

/** Until a checkpoint is half written. */
function waitForDraft(epoch: number): void {
  const draft = join(runs, "killed", "checkpoints", `.epoch-${epoch}.draft`);
  const deadline = Date.now() + 10_000;
  while (!existsSync(draft) && Date.now() < deadline);
}

const firstEpoch = ({ events }: Finished): number | undefined =>
  events.find((event) => event.phase === "environment-rollout" || event.phase === "agent-rollout")
    ?.epoch;

const metricsOf = (dir: string): Record<string, unknown>[] =>
  readFileSync(join(dir, "metrics.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe("a run that is killed again and again", { timeout: 900_000 }, () => {
  const dir = join(runs, "killed");
  const whole = [join(runs, "whole-1"), join(runs, "whole-2")];
  const resume = ["resume", dir];

  beforeAll(async () => {
    for (const other of whole) {
      const run = await genenv(start(other, epochs));
      expect(run.code, problem(run)).toBe(0);
    }
  }, 900_000);

  it.each(phases.map((phase, index) => ({ phase, epoch: index + 2, last: phases[index - 1] })))(
    "is killed in $phase of epoch $epoch and leaves no process",
    async ({ phase, epoch, last }) => {
      const run = await killed(existsSync(dir) ? resume : start(dir, epochs), phase, epoch);
      // Every process begins with the epoch that the one before it was killed in, unless that was saved.
      expect(firstEpoch(run)).toBe(last === "saved" ? epoch : epoch - 1);
      const saved = listCheckpoints(dir).map((checkpoint) => checkpoint.epoch);
      expect(saved.at(-1)).toBe(phase === "saved" ? epoch : epoch - 1);
    },
  );

  it("ends when it is left alone, and an epoch that was saved isn't done again", async () => {
    const run = await genenv(resume);
    expect(run.events.at(-1), problem(run)).toMatchObject({
      type: "result",
      epochs,
      steps: epochs,
    });
    expect(run.code).toBe(0);
    expect(firstEpoch(run)).toBe(phases.at(-1) === "saved" ? epochs : epochs - 1);
  });

  it("has the epochs, steps, phases and files of a run that was not killed", () => {
    const linesOf = (of: string): unknown[] =>
      metricsOf(of).map(({ epoch, step, phase }) => [epoch, step, phase]);
    const filesOf = (of: string): string[] => readdirSync(join(of, "rollouts")).sort();
    for (const other of whole) {
      expect(linesOf(dir)).toEqual(linesOf(other));
      expect(filesOf(dir)).toEqual(filesOf(other));
      expect(readdirSync(join(dir, "checkpoints")).sort()).toEqual(
        readdirSync(join(other, "checkpoints")).sort(),
      );
    }
  });

  it("has tried as many tasks in each epoch as such a run, and none of them twice", async () => {
    const tried = (of: string): Promise<unknown[]> =>
      query(
        `select epoch, count(*)::int as tasks, count(distinct task)::int as different
         from '${of}/tasks.parquet' where responses > 0 group by epoch order by epoch`,
      );
    const expected = Array.from({ length: epochs }, (_, index) => ({
      epoch: index + 1,
      tasks: 8,
      different: 8,
    }));
    for (const of of [dir, ...whole]) expect(await tried(of)).toEqual(expected);
  });

  it("has every answer of every epoch in the ledger", async () => {
    const answers = (of: string): Promise<unknown[]> =>
      query(
        `select epoch, count(*)::int as answers from '${of}/rollouts/epoch-*.parquet'
         where role = 'environment' group by epoch order by epoch`,
      );
    for (const other of whole) expect(await answers(dir)).toEqual(await answers(other));
    const lost = await query(
      `select task as parent from '${dir}/rollouts/epoch-*.parquet' where role = 'environment'
       except select parent from '${dir}/tasks.parquet'`,
    );
    expect(lost).toEqual([]);
  });

  it("is validated within the spread of runs that were not killed", async () => {
    const last = async (of: string): Promise<{ mean: number; n: number; spread: number }> => {
      const file = `validation-${String(epochs).padStart(6, "0")}.parquet`;
      const [row] = await query(
        `select avg(score) as mean, count(score)::int as n, var_samp(score) as spread
         from '${of}/rollouts/${file}'`,
      );
      return row as { mean: number; n: number; spread: number };
    };
    const own = await last(dir);
    const others = [await last(whole[0] as string), await last(whole[1] as string)];
    // Three standard errors of a difference, for the sampling of the responses themselves.
    const noise = 3 * Math.sqrt((2 * Math.max(own.spread, ...others.map((o) => o.spread))) / own.n);
    expect(own.mean).toBeGreaterThan(Math.min(...others.map(({ mean }) => mean)) - noise);
    expect(own.mean).toBeLessThan(Math.max(...others.map(({ mean }) => mean)) + noise);
  });

  it("has kept the optimiser's state over every kill: Adam has counted each update", () => {
    const steps = runPython(
      testPython() as string,
      `
import glob, json, sys, torch
out = []
for role in ("agent", "environment"):
    (file,) = glob.glob(f"{sys.argv[1]}/trainer/{role}/optim_world_size_1_rank_0.pt")
    state = torch.load(file, weights_only=False)["state"]
    out.append(sorted({int(entry["step"]) for entry in state.values()}))
print(json.dumps(out))
`,
      join(dir, "checkpoints", `epoch-${epochs}`),
    );
    expect(steps).toEqual([[epochs], [epochs]]);
  });

  it("gives a model that transformers loads with tokenizer and template", () => {
    const { dir: model } = exportModel(dir, { out: join(runs, "agent") });
    const answer = runPython(
      testPython() as string,
      `
import json, sys
from transformers import AutoModelForCausalLM, AutoTokenizer
AutoModelForCausalLM.from_pretrained(sys.argv[1])
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
print(json.dumps(bool(tokenizer.chat_template)))
`,
      model,
    );
    expect(answer).toBe(true);
  });
});

describe("what comes back", { timeout: 900_000 }, () => {
  const dir = join(runs, "restored");
  const saved = join(dir, "checkpoints", "epoch-1");
  const aside = join(runs, "epoch-1");
  const rollouts = join(dir, "rollouts", "epoch-000002.parquet");
  const first = join(runs, "first.parquet");

  beforeAll(async () => {
    await killed(start(dir, 2), "epoch-end", 2);
    cpSync(rollouts, first);
    // With its checkpoint gone, a run that is stopped before it has changed anything saves what it restored.
    const takeAway = (event: Event, child: ChildProcess): void => {
      if (!isIn(event, "environment-rollout", 2) || !existsSync(saved)) return;
      renameSync(saved, aside);
      child.kill("SIGINT");
    };
    const stopped = await genenv(["resume", dir], { onEvent: takeAway });
    expect(stopped.code, problem(stopped)).not.toBeNull();
  }, 900_000);

  it("is the state that was saved, by its hashes: models, optimisers, random states, the loop", () => {
    const [before, after] = [aside, saved].map((folder) =>
      runPython(testPython() as string, hashes, folder),
    ) as [Record<string, string>, Record<string, string>];
    expect(Object.keys(before)).toEqual(
      expect.arrayContaining([
        "state.json",
        "pool.jsonl",
        "agent/model.safetensors",
        "environment/model.safetensors",
        ...["agent", "environment"].flatMap((role) =>
          ["model", "optim", "extra_state"].map(
            (part) => `trainer/${role}/${part}_world_size_1_rank_0.pt`,
          ),
        ),
      ]),
    );
    expect(after).toEqual(before);
  });

  it("goes on with the batch that the killed process had", async () => {
    const run = await genenv(["resume", dir]);
    expect(run.code, problem(run)).toBe(0);
    const prompts = (file: string, role: string): Promise<Record<string, unknown>[]> =>
      query(
        `select distinct on (task) task, prompt from '${file}' where role = '${role}' order by task`,
      );
    const environment = await prompts(first, "environment");
    expect(environment).toHaveLength(8);
    expect(await prompts(rollouts, "environment")).toEqual(environment);
    // The environment's sampled answers decide how many places seed data gets: the shorter list begins the longer.
    const seeds = async (file: string): Promise<unknown[]> => {
      const rows = await query(
        `select task from read_parquet('${file}', file_row_number = true)
         where task like 'seed-%' and sample = 0 order by file_row_number`,
      );
      return rows.map(({ task }) => task);
    };
    const [had, has] = [await seeds(first), await seeds(rollouts)];
    const both = Math.min(had.length, has.length);
    expect(has.slice(0, both)).toEqual(had.slice(0, both));
  });

  it("is the whole batch where no model writes tasks", async () => {
    const plain = join(runs, "plain");
    const file = join(plain, "rollouts", "epoch-000002.parquet");
    await killed(start(plain, 2, "genenv.enable=False"), "epoch-end", 2);
    const batch = `select task, prompt, ground_truth from '${file}' where role = 'agent' order by task, sample`;
    const had = await query(batch);
    rmSync(file);
    const run = await genenv(["resume", plain]);
    expect(run.code, problem(run)).toBe(0);
    expect(had).toHaveLength(32);
    expect(await query(batch)).toEqual(had);
  });
});

/** SHA-256 of every file of a checkpoint; of what torch saved, of each tensor's bytes and each value. */
const hashes = `
import hashlib, json, pathlib, sys
import numpy, torch

def feed(digest, value):
    if isinstance(value, dict):
        for key in sorted(value, key=str):
            digest.update(str(key).encode())
            feed(digest, value[key])
    elif isinstance(value, (list, tuple)):
        for item in value:
            feed(digest, item)
    elif isinstance(value, torch.Tensor):
        local = value.to_local() if hasattr(value, "to_local") else value
        digest.update(local.detach().cpu().reshape(-1).contiguous().view(torch.uint8).numpy().tobytes())
    elif isinstance(value, numpy.ndarray):
        digest.update(value.tobytes())
    else:
        digest.update(repr(value).encode())

root = pathlib.Path(sys.argv[1])
out = {}
# The configuration says that the run was resumed.
for file in sorted(p for p in root.rglob("*") if p.is_file() and p != root / "config.yaml"):
    digest = hashlib.sha256()
    if file.suffix == ".pt":
        feed(digest, torch.load(file, weights_only=False))
    else:
        digest.update(file.read_bytes())
    out[str(file.relative_to(root))] = digest.hexdigest()
print(json.dumps(out))
`;
