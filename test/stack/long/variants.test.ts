/** Real runs of what the main job leaves at its default: labels by vote, groups refilled, one model in both roles. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writeDataset } from "../../../sdk/data/write.js";
import { loadRun, type RunMetric } from "../../../sdk/load-run.js";
import { runPython, testPython } from "../../python-env.js";
import { tinyRun } from "../stopping.js";
import { type Finished, genenv, problem, query } from "./cli.js";

const runs = mkdtempSync(join(tmpdir(), "genenv-stack-"));
afterAll(() => rmSync(runs, { recursive: true, force: true }));

const job = (dir: string, ...more: string[]): string[] => [
  ...tinyRun,
  "actor_rollout_ref.actor.optim.lr=1e-3",
  `trainer.default_local_dir=${dir}`,
  ...more,
];

const metricsOf = async (dir: string, phase: string): Promise<RunMetric["values"][]> =>
  (await loadRun(dir)).metrics
    .filter((metric) => metric.phase === phase)
    .map(({ values }) => values);

describe("labels by vote, and groups without signal refilled", { timeout: 600_000 }, () => {
  const dir = join(runs, "voting");
  const agreement = 0.75;
  let run: Finished;

  beforeAll(async () => {
    const data = join(runs, "train.parquet");
    const rows = Array.from({ length: 40 }, (_, i) => ({
      prompt: `Say ${i}`,
      groundTruth: "more",
    }));
    await writeDataset(rows, data);
    run = await genenv(
      job(
        dir,
        `data.train_files=${data}`,
        `data.val_files=${data}`,
        "genenv.hooks.reward=test/stack/tiny-run/voting.ts",
        "genenv.hooks.environment=test/stack/tiny-run/voting.ts#unlabelled",
        "genenv.labels=majority",
        `genenv.label_agreement=${agreement}`,
        "algorithm.filter_groups.enable=True",
        "algorithm.filter_groups.metric=acc",
        "algorithm.filter_groups.max_num_gen_batches=3",
        "trainer.total_epochs=2",
      ),
    );
  }, 600_000);

  it("ends well", () => {
    expect(run.code, problem(run)).toBe(0);
  });

  it("labels a task where enough responses agree, and rejects it where they don't", async () => {
    const voted = await query(
      `select ground_truth, agreement, scored, trained, kept, reason from '${dir}/tasks.parquet'
       where agreement is not null`,
    );
    const labelled = voted.filter((row) => (row.agreement as number) >= agreement);
    const rejected = voted.filter((row) => (row.agreement as number) < agreement);
    expect(labelled.length).toBeGreaterThan(0);
    expect(rejected.length).toBeGreaterThan(0);
    for (const row of labelled) {
      expect(row.ground_truth).toMatch(/^"(none|one|more)"$/);
      expect(row.scored).toBe(4);
    }
    for (const row of rejected) {
      expect(row).toMatchObject({
        ground_truth: "null",
        scored: 0,
        trained: false,
        kept: false,
        reason: "low-agreement",
      });
    }
  });

  it("gives a label's agreement as its success rate: the reward compares with the label", async () => {
    const others = await query(
      `select * from '${dir}/tasks.parquet' where agreement >= ${agreement} and success_rate <> agreement`,
    );
    expect(others).toEqual([]);
  });

  it("tries more tasks than a batch holds, none twice, and trains on groups with signal alone", async () => {
    const epochs = await query(
      `select epoch, count(*)::int as tried, count(distinct task)::int as different,
         count(*) filter (trained)::int as trained,
         count(*) filter (trained and success_rate in (0, 1))::int as silent,
         count(*) filter (success_rate > 0 and success_rate < 1)::int as signal
       from '${dir}/tasks.parquet' where responses > 0 group by epoch order by epoch`,
    );
    expect(epochs).toHaveLength(2);
    for (const epoch of epochs) {
      expect(epoch.tried).toBeGreaterThan(8);
      expect(epoch.different).toBe(epoch.tried);
      expect(epoch.silent).toBe(0);
      expect(epoch.trained).toBe(Math.min(8, epoch.signal as number));
    }
    const agent = await metricsOf(dir, "agent");
    expect(agent.map((values) => values["agent/groups_without_signal"])).toEqual(
      // By reward: with this one, a group's rewards differ where its successes do.
      epochs.map(({ tried, signal }) => (tried as number) - (signal as number)),
    );
    expect(agent.map((values) => values["update/rows"])).toEqual(
      epochs.map(({ trained }) => 4 * (trained as number)),
    );
    const warned = run.events.filter(({ code }) => code === "few-groups").length;
    expect(warned).toBe(epochs.filter(({ signal }) => (signal as number) < 8).length);
  });
});

describe("one model in both roles", { timeout: 600_000 }, () => {
  const dir = join(runs, "one-model");
  let run: Finished;

  beforeAll(async () => {
    run = await genenv(job(dir, "--env-model", "agent", "trainer.total_epochs=2"));
  }, 600_000);

  it("ends well, with one set of weights", () => {
    expect(run.code, problem(run)).toBe(0);
    const saved = join(dir, "checkpoints", "epoch-2");
    expect(readdirSync(saved)).toContain("agent");
    expect(readdirSync(saved)).not.toContain("environment");
    expect(readdirSync(join(saved, "trainer"))).toEqual(["agent"]);
    expect(readdirSync(join(dir, "logs"))).not.toContain("environment.log");
  });

  it("updates it for both roles in each epoch", async () => {
    for (const phase of ["agent", "environment"]) {
      const values = await metricsOf(dir, phase);
      expect(values).toHaveLength(2);
      for (const each of values) {
        expect(each["update/rows"]).toBeGreaterThan(0);
        expect(each["actor/grad_norm"]).toBeGreaterThan(0);
      }
    }
    const steps = runPython(
      testPython() as string,
      `
import glob, json, sys, torch
(file,) = glob.glob(f"{sys.argv[1]}/trainer/agent/optim_world_size_1_rank_0.pt")
state = torch.load(file, weights_only=False)["state"]
print(json.dumps(sorted({int(entry["step"]) for entry in state.values()})))
`,
      join(dir, "checkpoints", "epoch-2"),
    );
    expect(steps).toEqual([4]);
  });

  it("goes on from its checkpoint", async () => {
    const more = await genenv(["resume", dir, "trainer.total_epochs=3"]);
    expect(more.events.at(-1), problem(more)).toMatchObject({ type: "result", epochs: 3 });
    expect(await metricsOf(dir, "environment")).toHaveLength(3);
  });
});
