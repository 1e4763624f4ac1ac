/** A real run of each example with a 1 M-parameter model: two epochs of everything, with hooks and data as they are. */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..", "..", "..");
const runs = mkdtempSync(join(tmpdir(), "genenv-examples-"));
afterAll(() => rmSync(runs, { recursive: true, force: true }));

// The tiny model reads single characters, so that prompts are long; everything else is small.
const tiny = [
  "actor_rollout_ref.model.path=builtin:tiny",
  "env_model_path=builtin:tiny",
  "trainer.total_epochs=2",
  "trainer.val_before_train=False",
  "data.train_batch_size=4",
  "data.max_prompt_length=640",
  "data.max_response_length=16",
  "genenv.env.data.max_prompt_length=1400",
  "genenv.env.data.max_response_length=16",
  "genenv.num_generations_per_prompt=2",
  "actor_rollout_ref.rollout.n=2",
  "actor_rollout_ref.rollout.val_kwargs.n=1",
  "actor_rollout_ref.actor.ppo_mini_batch_size=4",
];

interface Finished {
  status: number | null;
  output: string;
}

function node(args: string[]): Finished {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: "utf8",
  });
  return { status, output: stdout + stderr };
}

/** The program of an example, compiled; it finds the package by its name, as a user's does. */
function compiled(name: string): string {
  const file = join(root, ".genenv", `${name}-${process.pid}.mjs`);
  const args = ["--bundle", "--packages=external", "--platform=node", "--format=esm"];
  execFileSync("npx", ["esbuild", `examples/${name}/run.ts`, ...args, `--outfile=${file}`], {
    cwd: root,
    stdio: "ignore",
  });
  return file;
}

function phasesOf(dir: string): Set<unknown> {
  const file = join(dir, "metrics.jsonl");
  const lines = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
  return new Set(lines.map((line) => (JSON.parse(line) as { phase: unknown }).phase));
}

describe("the examples with a 1 M-parameter model", { timeout: 600_000 }, () => {
  it.each(["math", "tool-calling"])("%s runs from the command line", (name) => {
    const dir = join(runs, name);
    const cli = join(root, "dist", "sdk", "cli", "main.js");
    const config = `examples/${name}/cpu.yaml`;
    const overrides = [...tiny, `trainer.default_local_dir=${dir}`];
    const { status, output } = node([cli, "run", config, ...overrides]);
    expect(output).toContain("done: 2 epochs");
    expect(status).toBe(0);
    expect(phasesOf(dir)).toEqual(new Set(["agent", "environment", "validation"]));
  });

  it("web-actions runs as a program", () => {
    const dir = join(runs, "web-actions");
    const file = compiled("web-actions");
    try {
      const config = "examples/web-actions/cpu.yaml";
      const { status, output } = node([file, config, ...tiny, `trainer.default_local_dir=${dir}`]);
      expect(output).toMatch(/^epoch 2: .*agent\/reward_mean/m);
      expect(output).toContain("2 epochs, saved in ");
      expect(status).toBe(0);
    } finally {
      rmSync(file, { force: true });
    }
  });
});
