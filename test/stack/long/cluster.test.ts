/**
 * The main job across two nodes of a Ray cluster with token authentication: a role on each, hooks on the driver or on
 * every node; and the loss of a node in the middle of an epoch.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testPython } from "../../python-env.js";
import { startTwoNodes, type TwoNodes, whyNoNamespaces } from "./two-nodes.js";

const root = join(import.meta.dirname, "..", "..", "..");
const cli = join(root, "dist", "sdk", "cli", "main.js");
const why = whyNoNamespaces();
const runs = mkdtempSync(join(tmpdir(), "genenv-stack-"));
afterAll(() => rmSync(runs, { recursive: true, force: true }));

interface Event {
  type: string;
  epoch: number;
  phase?: string;
  code?: string;
  message?: string;
}
interface Finished {
  code: number | null;
  events: Event[];
  errors: string;
}

function genenv(
  nodes: TwoNodes,
  args: string[],
  onEvent: (event: Event) => void = () => {},
): Promise<Finished> {
  const [command = "", ...rest] = nodes.onHead([process.execPath, cli, ...args, "--json"]);
  return new Promise((resolve) => {
    const child = spawn(command, rest, { cwd: root, env: { ...process.env, ...nodes.env } });
    const events: Event[] = [];
    let [text, errors] = ["", ""];
    child.stdout.on("data", (chunk: Buffer) => {
      const lines = (text + chunk.toString()).split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) {
        const event = JSON.parse(line) as Event;
        events.push(event);
        onEvent(event);
      }
    });
    child.stderr.on("data", (chunk: Buffer) => {
      errors += chunk.toString();
    });
    child.on("close", (code) => resolve({ code, events, errors }));
  });
}

const job = (nodes: TwoNodes, dir: string, ...more: string[]): string[] => [
  "run",
  "--model",
  "builtin:tiny",
  "--env-model",
  "builtin:tiny",
  "genenv.hooks.reward=test/stack/tiny-run/reward.ts",
  "genenv.hooks.environment=test/stack/tiny-run/environment.ts",
  "actor_rollout_ref.actor.optim.lr=1e-3",
  "data.train_batch_size=8",
  "actor_rollout_ref.rollout.n=4",
  "trainer.val_before_train=False",
  "trainer.save_freq=1",
  `genenv.ray_address=${nodes.address}`,
  `trainer.default_local_dir=${dir}`,
  ...more,
];

const problem = ({ code, events, errors }: Finished): string =>
  JSON.stringify({ code, last: events.slice(-3), errors: errors.slice(-2000) });

describe.skipIf(why !== null)(`two nodes${why ? `: ${why}` : ""}`, { timeout: 900_000 }, () => {
  let nodes: TwoNodes;

  beforeAll(() => {
    nodes = startTwoNodes(testPython() as string);
  }, 120_000);
  afterAll(() => nodes?.stop(), 60_000);

  it("refuses what the cluster lacks, by name, before a role starts", async () => {
    const args = job(nodes, join(runs, "large"), "trainer.nnodes=2");
    const finished = await genenv(nodes, ["check", ...args.slice(1)]);
    expect(finished.errors + JSON.stringify(finished.events)).toContain(
      "No place for 2 x 1 for the environment",
    );
    expect(finished.code).toBe(2);
  });

  it("refuses a run's folder that the second node doesn't see", async () => {
    const dir = join(nodes.unshared, "run");
    const finished = await genenv(nodes, ["check", ...job(nodes, dir).slice(1)]);
    const said = finished.errors + JSON.stringify(finished.events);
    expect(said).toContain(`do not see these folders: ${dir} on ${nodes.secondAddress}`);
    expect(finished.code).toBe(2);
  });

  it("refuses a command without the cluster's token", async () => {
    const stranger = { ...nodes, env: { ...nodes.env, RAY_AUTH_TOKEN: "wrong".padEnd(64, "0") } };
    const finished = await genenv(stranger, job(nodes, join(runs, "stranger")));
    expect(finished.errors + JSON.stringify(finished.events)).toContain("RAY_AUTH_TOKEN");
    expect(finished.code).not.toBe(0);
  });

  it("trains a role on each, with hooks on the driver", async () => {
    let onSecond: string[] = [];
    const dir = join(runs, "driver");
    const finished = await genenv(nodes, job(nodes, dir, "trainer.total_epochs=1"), (event) => {
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
      finished = await genenv(nodes, job(nodes, dir, ...args), (event) => {
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
      const resumed = await genenv(nodes, ["resume", dir, "trainer.total_epochs=2"]);
      expect(resumed.code, problem(resumed)).toBe(0);
      const lines = readFileSync(join(dir, "metrics.jsonl"), "utf8").trim().split("\n");
      const agent = lines
        .map((line) => JSON.parse(line) as Event)
        .filter((l) => l.phase === "agent");
      expect(agent.map(({ epoch }) => epoch)).toEqual([1, 2]);
    }, 600_000);
  });
});
