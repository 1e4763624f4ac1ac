/**
 * One real run that is killed with SIGKILL, whole process tree, in each phase in turn, and goes on each time.
 * GENENV_KILL_PHASES=parse,checkpoint tries only some.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, describe, expect, it } from "vitest";
import { exportModel } from "../../../sdk/export.js";
import { runPython, testPython } from "../../python-env.js";
import { leftovers, snapshot } from "../leftovers.js";

const root = join(import.meta.dirname, "..", "..", "..");
const cli = join(root, "dist", "sdk", "cli", "main.js");
const allPhases = [
  "environment-rollout",
  "parse",
  "agent-rollout",
  "agent-update",
  "environment-update",
  "epoch-end",
  "checkpoint",
];
const phases = process.env.GENENV_KILL_PHASES?.split(",") ?? allPhases;
// Each process finishes one epoch and is killed in the next; the last one ends with an epoch of its own.
const epochs = phases.length + 1;
const runs = mkdtempSync(join(tmpdir(), "genenv-stack-"));
afterAll(() => rmSync(runs, { recursive: true, force: true }));
const dir = join(runs, "killed");

const start = [
  "run",
  "--json",
  "--model",
  "builtin:tiny",
  "--env-model",
  "builtin:tiny",
  "genenv.hooks.reward=test/stack/tiny-run/reward.ts",
  "genenv.hooks.environment=test/stack/tiny-run/environment.ts",
  "actor_rollout_ref.actor.optim.lr=1e-3",
  "data.train_batch_size=8",
  "actor_rollout_ref.rollout.n=4",
  "trainer.save_freq=1",
  "trainer.val_before_train=False",
  `trainer.total_epochs=${epochs}`,
  `trainer.default_local_dir=${dir}`,
];

interface Event {
  type: string;
  epoch: number;
  phase?: string;
  message?: string;
}

/** Runs the CLI to its end, or until `kill` says so of an event: then nothing of it is left alive. */
function genenv(
  args: string[],
  kill: (event: Event) => boolean = () => false,
): Promise<{ code: number | null; events: Event[]; killed: boolean }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [cli, ...args], { cwd: root });
    const events: Event[] = [];
    let [rest, killed] = ["", false];
    child.stdout.on("data", (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const event = JSON.parse(line) as Event;
        events.push(event);
        if (killed || !kill(event)) continue;
        killed = true;
        for (const pid of [child.pid as number, ...descendantsOf(child.pid as number)]) end(pid);
      }
    });
    child.on("close", (code) => resolve({ code, events, killed }));
  });
}

function descendantsOf(pid: number): number[] {
  const parents = new Map(
    readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map((name) => [Number(name), parentOf(name)]),
  );
  const below = (of: number): number[] =>
    [...parents].filter(([, parent]) => parent === of).flatMap(([own]) => [own, ...below(own)]);
  return below(pid);
}

function parentOf(pid: string): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return null;
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It went with its parent.
  }
}

async function query(sql: string): Promise<Record<string, unknown>[]> {
  const connection = await (await DuckDBInstance.create()).connect();
  return (await connection.runAndReadAll(sql)).getRowObjectsJS();
}

async function processesLeft(before: ReturnType<typeof snapshot>): Promise<string[]> {
  const running = (): string[] => leftovers(before).filter((name) => name.startsWith("process"));
  for (let tries = 0; tries < 20 && running().length > 0; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  return running();
}

describe("a run that is killed again and again", { timeout: 900_000 }, () => {
  const before = snapshot();

  it.each(phases.map((phase, index) => ({ phase, epoch: index + 2 })))(
    "is killed in $phase of epoch $epoch and leaves no process",
    async ({ phase, epoch }) => {
      const args = existsSync(dir) ? ["resume", "--json", dir] : start;
      const run = await genenv(args, (event) => event.epoch === epoch && event.phase === phase);
      expect(run.killed, JSON.stringify(run.events.slice(-3))).toBe(true);
      // Every process begins with the epoch that the one before it was killed in, and saves it.
      const begun = run.events.find((event) => event.phase === "environment-rollout");
      expect(begun?.epoch).toBe(epoch - 1);
      expect(await processesLeft(before)).toEqual([]);
    },
  );

  it("ends when it is left alone", async () => {
    const run = await genenv(["resume", "--json", dir]);
    expect(run.events.at(-1)).toMatchObject({ type: "result", epochs, steps: epochs });
    expect(run.code).toBe(0);
  });

  it("has the epochs, steps, metrics and rollouts of a run that was not killed", () => {
    const lines = readFileSync(join(dir, "metrics.jsonl"), "utf8").trim().split("\n");
    const metrics = lines.map((line) => JSON.parse(line) as Event & { step: number });
    const all = Array.from({ length: epochs }, (_, index) => index + 1);
    for (const phase of ["agent", "environment"]) {
      const of = metrics.filter((line) => line.phase === phase);
      expect(of.map(({ epoch }) => epoch)).toEqual(all);
      expect(of.map(({ step }) => step)).toEqual(all);
    }
    const files = readdirSync(join(dir, "rollouts")).filter((name) => name.startsWith("epoch-"));
    expect(files).toHaveLength(epochs);
  });

  it("has tried a whole batch in each epoch and no task of an epoch twice", async () => {
    const tried = await query(
      `select epoch, count(*)::int as tasks, count(distinct task)::int as different
       from '${dir}/tasks.parquet' where responses > 0 group by epoch order by epoch`,
    );
    expect(tried).toEqual(
      Array.from({ length: epochs }, (_, index) => ({ epoch: index + 1, tasks: 8, different: 8 })),
    );
    const lost = await query(
      `select task as parent from '${dir}/rollouts/epoch-*.parquet' where role = 'environment'
       except select parent from '${dir}/tasks.parquet'`,
    );
    expect(lost).toEqual([]);
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
