/** A real run whose responses are scored by veRL's reward workers while others still generate. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { scoreAll } from "../../../bridge/hooks/score-all.js";
import { loadRun, type RunRollout } from "../../../sdk/load-run.js";
import { failing } from "../tiny-run/reward.js";

const root = join(import.meta.dirname, "..", "..", "..");
const runs = mkdtempSync(join(tmpdir(), "genenv-stack-"));
afterAll(() => rmSync(runs, { recursive: true, force: true }));

test("overlapped scores, abstentions and failures are those of a batch", {
  timeout: 900_000,
}, async () => {
  const dir = join(runs, "overlap");
  const run = spawnSync(
    process.execPath,
    [
      join(root, "dist", "sdk", "cli", "main.js"),
      "run",
      ...["--model", "builtin:tiny", "--env-model", "builtin:tiny"],
      "genenv.hooks.reward=test/stack/tiny-run/reward.ts#failing",
      "genenv.hooks.environment=test/stack/tiny-run/environment.ts",
      "genenv.hooks.scoring=overlap",
      "genenv.hooks.max_failure_rate=1",
      "data.train_batch_size=8",
      "actor_rollout_ref.rollout.n=4",
      "trainer.total_epochs=1",
      `trainer.default_local_dir=${dir}`,
    ],
    { cwd: root, encoding: "utf8" },
  );
  const output = run.stdout + run.stderr;
  expect(output).toContain("done: 1 epoch");
  expect(output).toMatch(
    /warning: reward "no-sevens" threw .*: RangeError: a seven\n {4}at .*reward\.ts:\d+/,
  );
  expect(output).toMatch(/epoch 1\/1 .* {2}\| {2}failed threw \d+/);

  const loaded = await loadRun(dir);
  const rollouts: RunRollout[] = [];
  for await (const rollout of loaded.rollouts()) {
    if (rollout.role === "agent") rollouts.push(rollout);
  }
  expect(new Set(rollouts.map(({ phase }) => phase))).toEqual(new Set(["train", "validation"]));
  const again = await scoreAll(
    failing,
    rollouts.map(({ response, groundTruth }) => ({
      response,
      groundTruth: JSON.parse(String(groundTruth)),
    })),
  );
  const kinds = new Set<string>();
  for (const [row, rollout] of rollouts.entries()) {
    const result = again[row];
    kinds.add(String(result?.kind));
    if (result?.kind === "score") {
      expect(rollout.score).toBeCloseTo(result.value, 9);
      expect(rollout.success).toBe(result.success);
      expect(rollout.metrics).toEqual(result.metrics);
    } else {
      expect(rollout.score).toBeNull();
      expect(rollout.failure).toBe(result?.kind === "failed" ? result.code : null);
      expect(rollout.reason).toMatch(result?.kind === "failed" ? /RangeError: a seven/ : /^tilde$/);
    }
  }
  expect(kinds).toEqual(new Set(["score", "abstain", "failed"]));
  const agent = loaded.metrics.find(({ phase }) => phase === "agent")?.values;
  const trained = rollouts.filter(({ phase }) => phase === "train");
  expect(agent?.["agent/failed/threw"]).toBe(trained.filter((r) => r.failure === "threw").length);
  expect(agent?.["agent/parts/digits"]).toBeGreaterThan(0);
});
