/**
 * The main job across two nodes of a Ray cluster with token authentication: a role on each, hooks on the driver or on
 * every node; and the loss of a node in the middle of an epoch.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testPython } from "../../python-env.js";
import { type Event, tinyRun } from "../stopping.js";
import { type Finished, genenv, problem } from "./cli.js";
import { startTwoNodes, type TwoNodes, whyNoNamespaces } from "./two-nodes.js";

const why = whyNoNamespaces();
const runs = mkdtempSync(join(tmpdir(), "genenv-stack-"));
afterAll(() => rmSync(runs, { recursive: true, force: true }));

/** The CLI on the head. */
const onHead = (
  nodes: TwoNodes,
  args: string[],
  onEvent: (event: Event) => void = () => {},
): Promise<Finished> => genenv(args, { onEvent, wrap: nodes.onHead, env: nodes.env });

const job = (nodes: TwoNodes, dir: string, ...more: string[]): string[] => [
  ...tinyRun,
  "actor_rollout_ref.actor.optim.lr=1e-3",
  `genenv.ray_address=${nodes.address}`,
  `trainer.default_local_dir=${dir}`,
  ...more,
];

describe.skipIf(why !== null)(`two nodes${why ? `: ${why}` : ""}`, { timeout: 900_000 }, () => {
  let nodes: TwoNodes;

  beforeAll(() => {
    nodes = startTwoNodes(testPython() as string);
  }, 120_000);
  afterAll(() => nodes?.stop(), 60_000);

  it("refuses what the cluster lacks, by name, before a role starts", async () => {
    const args = job(nodes, join(runs, "large"), "trainer.nnodes=2");
    const finished = await onHead(nodes, ["check", ...args.slice(1)]);
    expect(finished.errors + JSON.stringify(finished.events)).toContain(
      "No place for 2 x 1 for the environment",
    );
    expect(finished.code).toBe(2);
  });

  it("refuses a run's folder that the second node doesn't see", async () => {
    const dir = join(nodes.unshared, "run");
    const finished = await onHead(nodes, ["check", ...job(nodes, dir).slice(1)]);
    const said = finished.errors + JSON.stringify(finished.events);
    expect(said).toContain(`do not see these folders: ${dir} on ${nodes.secondAddress}`);
    expect(finished.code).toBe(2);
  });

  it("refuses a command without the cluster's token", async () => {
    const stranger = { ...nodes, env: { ...nodes.env, RAY_AUTH_TOKEN: "wrong".padEnd(64, "0") } };
    const finished = await onHead(stranger, job(nodes, join(runs, "stranger")));
    expect(finished.errors + JSON.stringify(finished.events)).toContain("RAY_AUTH_TOKEN");
    expect(finished.code).not.toBe(0);
  });

  it("trains a role on each, with hooks on the driver", async () => {
    let onSecond: string[] = [];
    const dir = join(runs, "driver");
    const finished = await onHead(nodes, job(nodes, dir, "trainer.total_epochs=1"), (event) => {
      if (event.phase === "agent-rollout") onSecond = nodes.processesOfSecond();
    });
    expect(finished.code, problem(finished)).toBe(0);
    expect(onSecond.some((line) => /^ray::WorkerDict/.test(line))).toBe(true);
    expect(readdirSync(join(dir, "checkpoints"))).toEqual(["epoch-1"]);
  });

  describe("with hooks on every node, and the second one killed in the middle of an epoch", () => {
    const dir = join(runs, "node");
    let finished: Finished;
    let hooksOnSecond = false;

    beforeAll(async () => {
      const args = ["genenv.hooks.placement=node", "trainer.total_epochs=3"];
      finished = await onHead(nodes, job(nodes, dir, ...args), (event) => {
        if (event.epoch === 1 && event.phase === "agent-update") {
          hooksOnSecond = nodes.processesOfSecond().some((line) => line.includes("node-host.js"));
        }
        if (event.epoch === 2 && event.phase === "agent-rollout") nodes.killSecond();
      });
    }, 600_000);

    it("runs them there", () => {
      expect(hooksOnSecond, problem(finished)).toBe(true);
    });

    it("stops with the node's name, and what to do next", () => {
      const said = finished.errors + JSON.stringify(finished.events.slice(-2));
      expect(said).toContain(`the Ray cluster lost node ${nodes.secondAddress}`);
      expect(said).toContain("genenv resume");
      expect(finished.code).toBe(1);
    });

    it("has saved the epoch before", () => {
      expect(readdirSync(join(dir, "checkpoints"))).toEqual(["epoch-1"]);
      expect(existsSync(join(dir, "checkpoints", "epoch-1", "state.json"))).toBe(true);
    });

    it("goes on when the node is back, and tries no task of an epoch twice", async () => {
      nodes.startSecond();
      const resumed = await onHead(nodes, ["resume", dir, "trainer.total_epochs=2"]);
      expect(resumed.code, problem(resumed)).toBe(0);
      const lines = readFileSync(join(dir, "metrics.jsonl"), "utf8").trim().split("\n");
      const agent = lines
        .map((line) => JSON.parse(line) as Event)
        .filter((l) => l.phase === "agent");
      expect(agent.map(({ epoch }) => epoch)).toEqual([1, 2]);
    }, 600_000);
  });
});
