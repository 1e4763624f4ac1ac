/** One real run of the whole main job with a 1 M-parameter model: Ray, veRL, vLLM, and hooks in TypeScript. */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { scoreAll } from "../../bridge/hooks/score-all.js";
import { resolveModel } from "../../bridge/python/models.js";
import { runPython, testPython } from "../python-env.js";
import { type Leftovers, leftovers, snapshot } from "./leftovers.js";
import { tinyOptions } from "./tiny-run/options.js";
import reward from "./tiny-run/reward.js";

const root = join(import.meta.dirname, "..", "..");
const cli = join(root, "dist", "sdk", "cli", "main.js");
const tiny = [
  ...tinyOptions,
  "actor_rollout_ref.actor.optim.lr=1e-3",
  "genenv.env.actor_rollout_ref.actor.optim.lr=1e-3",
];

interface Finished {
  code: number | null;
  signal: NodeJS.Signals | null;
  output: string;
  seconds: number;
}

/** Runs the CLI; `interruptAt` sends SIGINT once when a line holds that text. */
function genenv(args: string[], interruptAt?: string): Promise<Finished> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [cli, "run", ...args], { cwd: root });
    let output = "";
    let interruptedAt: number | null = null;
    const started = Date.now();
    const onData = (chunk: Buffer): void => {
      output += chunk.toString();
      if (interruptAt && interruptedAt === null && output.includes(interruptAt)) {
        interruptedAt = Date.now();
        child.kill("SIGINT");
      }
    };
    child.stdout.on("data", onData);
    child.stderr.on("data", onData);
    child.on("close", (code, signal) =>
      resolve({ code, signal, output, seconds: (Date.now() - (interruptedAt ?? started)) / 1000 }),
    );
  });
}

async function query(sql: string): Promise<Record<string, unknown>[]> {
  const connection = await (await DuckDBInstance.create()).connect();
  return (await connection.runAndReadAll(sql)).getRowObjectsJS();
}

const runs = mkdtempSync(join(tmpdir(), "genenv-stack-"));
afterAll(() => rmSync(runs, { recursive: true, force: true }));

describe("the main job with a 1 M-parameter model", { timeout: 900_000 }, () => {
  const dir = join(runs, "main");
  let finished: Finished;
  let before: Leftovers;
  let metrics: Record<string, unknown>[];

  beforeAll(async () => {
    before = snapshot();
    finished = await genenv([
      ...tiny,
      // The trainer works out the old policy's log-probs itself, to be held against the rollout's.
      "algorithm.rollout_correction.bypass_mode=False",
      "trainer.total_epochs=2",
      `trainer.default_local_dir=${dir}`,
    ]);
    if (existsSync(join(dir, "metrics.jsonl"))) {
      const lines = readFileSync(join(dir, "metrics.jsonl"), "utf8").trim().split("\n");
      metrics = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    }
  }, 900_000);

  it("ends well and says where everything is", () => {
    expect(finished.output).toContain("done: 2 epochs");
    expect(finished.code).toBe(0);
  });

  it("keeps the engines' own messages off the screen", () => {
    expect(finished.output).not.toMatch(/WARNING|Traceback|INFO:|\(pid=/);
  });

  it("leaves the run folder of the design", () => {
    expect(readdirSync(dir).sort()).toEqual(
      expect.arrayContaining([
        "checkpoints",
        "config.yaml",
        "logs",
        "metrics.jsonl",
        "rollouts",
        "tasks.parquet",
      ]),
    );
    expect(readdirSync(join(dir, "checkpoints"))).toEqual(["epoch-2"]);
  });

  it("writes a line for each phase with the numbers of the design", () => {
    const of = (phase: string): Record<string, unknown>[] =>
      metrics.filter((line) => line.phase === phase);
    expect(of("agent").map(({ epoch, step }) => [epoch, step])).toEqual([
      [1, 1],
      [2, 2],
    ]);
    expect(of("environment")).toHaveLength(2);
    expect(of("validation").map(({ epoch }) => epoch)).toEqual([0, 2]);
    for (const line of of("agent")) {
      expect(line).toHaveProperty(["agent/reward_mean"]);
      expect(line).toHaveProperty(["agent/success_rate"]);
      expect(line).toHaveProperty(["timing_s/gen"]);
    }
    for (const line of of("environment")) {
      for (const name of ["env/valid_rate", "tasks/generated", "tasks/kept"]) {
        expect(line).toHaveProperty([name]);
      }
    }
    for (const line of of("validation")) expect(line).toHaveProperty(["val/success_rate"]);
  });

  it("rolls out with the weights it trains: both log-probs agree", () => {
    for (const line of metrics.filter(({ phase }) => phase === "agent")) {
      expect(line["training/rollout_actor_probs_pearson_corr"]).toBeGreaterThan(0.99);
    }
  });

  it("changes both models, and transformers loads them", async () => {
    const python = testPython() as string;
    const initial = await resolveModel("builtin:tiny", { python });
    const moved = runPython(
      python,
      `
import json, sys, torch
from transformers import AutoModelForCausalLM, AutoTokenizer
start, *ends = sys.argv[1:]
initial = AutoModelForCausalLM.from_pretrained(start, dtype=torch.float32).state_dict()
out = []
for folder in ends:
    AutoTokenizer.from_pretrained(folder)
    state = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).state_dict()
    out.append(max(float((state[k] - initial[k]).abs().max()) for k in initial))
print(json.dumps(out))
`,
      initial,
      join(dir, "checkpoints", "epoch-2", "agent"),
      join(dir, "checkpoints", "epoch-2", "environment"),
    ) as number[];
    expect(moved).toHaveLength(2);
    // Adam moves a weight by about the learning rate (1e-3) a step.
    for (const largest of moved) {
      expect(largest).toBeGreaterThan(1e-5);
      expect(largest).toBeLessThan(0.1);
    }
  });

  it("gives every response the reward that the hook gives when it is called directly", async () => {
    const rows = await query(
      `select * from '${dir}/rollouts/*.parquet' where role = 'agent' order by phase, epoch, task, sample`,
    );
    expect(rows.length).toBeGreaterThan(64);
    const direct = await scoreAll(
      reward,
      rows.map((row) => ({
        response: row.response as string,
        groundTruth: JSON.parse(row.ground_truth as string),
      })),
    );
    const stored = rows.map(({ score, reason }) => (score === null ? { reason } : { score }));
    expect(stored).toEqual(
      direct.map((result) =>
        result.kind === "score" ? { score: result.value } : { reason: result.reason },
      ),
    );
    expect(stored.some((row) => "reason" in row)).toBe(true);
  });

  it("accounts for every answer of the environment model", async () => {
    const [answers] = await query(
      `select count(*)::int as n from '${dir}/rollouts/epoch-*.parquet' where role = 'environment'`,
    );
    expect(answers?.n).toBe(16);
    const ledger = await query(`select * from '${dir}/tasks.parquet' order by epoch, task`);
    const parents = new Set(ledger.map((row) => row.parent).filter((parent) => parent !== null));
    expect(parents.size).toBe(16);
    for (const row of ledger) expect(row.reason).toBeTruthy();
  });

  it("fills the agent's batch in every epoch and takes success rates from its responses", async () => {
    const tried = await query(
      `select epoch, count(*)::int as n from '${dir}/tasks.parquet' where responses > 0 group by epoch order by epoch`,
    );
    expect(tried).toEqual([
      { epoch: 1, n: 8 },
      { epoch: 2, n: 8 },
    ]);
    const wrong = await query(`
      with rates as (
        select epoch, task, avg(success::int) as rate, count(success)::int as scored
        from '${dir}/rollouts/epoch-*.parquet' where role = 'agent' group by epoch, task)
      select * from '${dir}/tasks.parquet' join rates using (epoch, task)
      where success_rate is distinct from rate or tasks.scored <> rates.scored`);
    expect(wrong).toEqual([]);
  });

  it("leaves no process, socket, shared memory or folder behind", () => {
    expect(leftovers(before)).toEqual([]);
  });
});

describe("plain GRPO, interrupted", { timeout: 600_000 }, () => {
  const dir = join(runs, "stopped");
  let finished: Finished;
  let before: Leftovers;

  beforeAll(async () => {
    before = snapshot();
    finished = await genenv(
      [
        ...tiny,
        "genenv.enable=False",
        "trainer.total_epochs=500",
        "trainer.val_before_train=False",
        `trainer.default_local_dir=${dir}`,
      ],
      "epoch 2/",
    );
  }, 600_000);

  it("finishes the step, saves, and is gone within 20 s", () => {
    expect(finished.seconds).toBeLessThan(20);
    const [checkpoint] = readdirSync(join(dir, "checkpoints"));
    expect(checkpoint).toMatch(/^epoch-[2-9]$/);
    expect(readdirSync(join(dir, "checkpoints", checkpoint as string)).sort()).toEqual([
      "agent",
      "config.yaml",
      "pool.jsonl",
      "state.json",
      "state.sha256",
      "trainer",
    ]);
  });

  it("leaves no process, socket, shared memory or folder behind", () => {
    expect(leftovers(before)).toEqual([]);
  });
});
