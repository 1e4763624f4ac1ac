import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { makeData as makeMath } from "../../examples/math/dataset.js";
import { makeData as makeTools } from "../../examples/tool-calling/dataset.js";
import { makeData as makeWeb } from "../../examples/web-actions/dataset.js";
import { resolveConfig } from "../../sdk/config/resolve.js";
import { readDataFile } from "../../sdk/data/read.js";
import { loadTruthCheck } from "../../sdk/data/truth-check.js";
import { preflight } from "../../sdk/preflight/preflight.js";
import { tempFolder } from "../sdk/temp.js";

const root = join(import.meta.dirname, "..", "..");
// Notebooks are no project of their own.
const examples = readdirSync(join(root, "examples"))
  .filter((name) => name !== "notebooks")
  .sort();
const configs = examples.flatMap((name) =>
  readdirSync(join(root, "examples", name))
    .filter((file) => file.endsWith(".yaml"))
    .map((file) => `examples/${name}/${file}`),
);

test.each(configs)("%s resolves, and its data, batches and models pass preflight", async (file) => {
  const config = resolveConfig({ config: file, cwd: root, name: "check" });
  const { train, validation } = await preflight(config);
  expect(train[0]?.nested && validation[0]?.nested).toBe(true);
  for (const role of ["reward", "environment"] as const) {
    expect(existsSync(config.genenv.hooks[role] ?? "")).toBe(true);
  }
});

test.each(examples)("%s has every file that an example has", (name) => {
  const files = readdirSync(join(root, "examples", name));
  expect(files).toEqual(
    expect.arrayContaining([
      "README.md",
      "environment.ts",
      "make-data.ts",
      "reward.test.ts",
      "reward.ts",
    ]),
  );
  if (name !== "blank") expect(files).toContain("gpu-8.yaml");
});

describe.each([
  ["math", makeMath, 64, 16],
  ["tool-calling", makeTools, 36, 12],
  ["web-actions", makeWeb, 28, 14],
] as const)("the data of %s", (name, make, train, validation) => {
  test("is what the script makes, and the reward takes all of it", async () => {
    const folder = tempFolder();
    await make(folder);
    const truths = await loadTruthCheck(`examples/${name}/reward.ts`, root);
    for (const [file, rows] of [
      ["train.parquet", train],
      ["val.parquet", validation],
    ] as const) {
      const made = await readDataFile(join(folder, file));
      const kept = await readDataFile(join(root, "examples", name, "data", file));
      expect(made.rows).toHaveLength(rows);
      expect(made.rows).toEqual(kept.rows);
      expect(made.rows.flatMap((row, at) => truths(row.groundTruth, "", at) ?? [])).toEqual([]);
      expect(readFileSync(join(root, "examples", name, "data", file)).length).toBeLessThan(8192);
    }
  });

  test("has no prompt twice, nor in both files", async () => {
    const prompts: string[] = [];
    for (const file of ["train.parquet", "val.parquet"]) {
      const { rows } = await readDataFile(join(root, "examples", name, "data", file));
      prompts.push(...rows.map((row) => JSON.stringify(row.prompt)));
    }
    expect(new Set(prompts).size).toBe(train + validation);
  });
});
