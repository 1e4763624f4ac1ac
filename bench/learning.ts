import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { packageRoot } from "../bridge/python/paths.js";
import { loadConfig } from "../sdk/config/resolve.js";
import type { ConfigInput } from "../sdk/config/schema.js";
import { realParts } from "../sdk/run/parts.js";
import { withPreparedRun } from "../sdk/run/prepare.js";
import { writeData } from "./learning/data.js";
import { type ArmResult, readResults, toMargins, toSvg, toTable } from "./learning/report.js";

const arms = ["static", "frozen", "rwr", "grpo"] as const;

const usage = `npm run bench:learning -- [options]
  --seeds N      seeds of each arm (default 3); 1 is the one-seed mode
  --epochs N     epochs of each arm (default 40)
  --arms LIST    default ${arms.join(",")}
  --docs         write the table and the plot into docs/learning.md and docs/images/learning.svg
  --dev          measure on the development problems, for tuning, in place of the held-out ones
  --out FOLDER   default runs/bench-learning; arms that have a result there are not trained again
  key=value      overrides, as for genenv run`;

/** What all arms share. */
function configOf(folder: string, validation: string, epochs: number): ConfigInput {
  return {
    env_model_path: join(folder, "models", "environment"),
    genenv: {
      device: "cpu",
      num_generations_per_prompt: 8,
      filtering_k: 0.3,
      beta: 8,
      hooks: {
        reward: join("bench", "learning", "reward.ts"),
        environment: join("bench", "learning", "environment.ts"),
      },
      env: {
        data: { train_batch_size: 2, max_prompt_length: 16, max_response_length: 16 },
        actor_rollout_ref: {
          actor: { optim: { lr: 3e-4 }, use_kl_loss: true, kl_loss_coef: 0.01 },
        },
      },
    },
    algorithm: { rollout_correction: { bypass_mode: true } },
    data: {
      train_files: join(folder, "models", "seeds.parquet"),
      val_files: join(folder, "models", `${validation}.parquet`),
      train_batch_size: 16,
      max_prompt_length: 16,
      max_response_length: 12,
    },
    actor_rollout_ref: {
      model: { path: join(folder, "models", "agent") },
      actor: { optim: { lr: 1e-4 }, use_kl_loss: false, ppo_mini_batch_size: 16 },
      rollout: { n: 8, temperature: 1, val_kwargs: { do_sample: true, temperature: 1, n: 1 } },
    },
    trainer: {
      total_epochs: epochs,
      val_before_train: false,
      test_freq: -1,
      save_freq: -1,
      default_local_dir: join(folder, "stack"),
    },
  };
}

/** `npm run bench:learning`: whether an environment model that learns teaches the agent more than one that doesn't. */
export async function main(args: readonly string[], root: string): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      seeds: { type: "string", default: "3" },
      epochs: { type: "string", default: "40" },
      arms: { type: "string", default: arms.join(",") },
      dev: { type: "boolean", default: false },
      docs: { type: "boolean", default: false },
      out: { type: "string", default: join("runs", "bench-learning") },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const folder = resolve(root, values.out);
  const { python } = await realParts.ensurePython({});
  await makeModels(python, join(folder, "models"), root);
  // What a stack of an earlier call left: its arms are in results/, and its weights start from models/.
  rmSync(join(folder, "stack"), { recursive: true, force: true });
  const config = loadConfig(
    configOf(folder, values.dev ? "development" : "held-out", Number(values.epochs)),
    { overrides: positionals, cwd: root },
  );
  const job = {
    folder,
    seeds: Array.from({ length: Number(values.seeds) }, (_, seed) => seed),
    arms: values.arms.split(","),
    measureEvery: 5,
  };
  await withPreparedRun(
    {
      config,
      hooks: {},
      parts: realParts,
      signal: new AbortController().signal,
      onDetail: (detail) => console.error(detail),
      onWarning: (code, message) => console.error(`${code}: ${message}`),
    },
    async ({ params }) => {
      const file = join(folder, "job.json");
      writeFileSync(file, JSON.stringify({ ...job, params }));
      await runPython(python, join(root, "bench", "learning", "arms.py"), [file]);
    },
  );
  const results = readResults(join(folder, "results"));
  console.error(`\n${toTable(results)}\n\n${toMargins(results)}`);
  writeFileSync(join(folder, "learning.svg"), toSvg(results));
  if (values.docs) writeDocs(root, results);
  return 0;
}

/** Puts the figures between the marks of docs/learning.md. */
function writeDocs(root: string, results: readonly ArmResult[]): void {
  const file = join(root, "docs", "learning.md");
  const parts = { table: toTable(results), margins: toMargins(results) };
  const text = Object.entries(parts).reduce(
    (page, [name, part]) =>
      page.replace(
        new RegExp(`(<!-- ${name} -->\n)[^]*?(<!-- /${name} -->)`),
        (_, open: string, close: string) => `${open}\n${part}\n\n${close}`,
      ),
    readFileSync(file, "utf8"),
  );
  writeFileSync(file, text);
  writeFileSync(join(root, "docs", "images", "learning.svg"), toSvg(results));
}

/** Writes the data and teaches both models; what is there from the same data and code is taken as it is. */
async function makeModels(python: string, folder: string, root: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const script = join(root, "bench", "learning", "warm_start.py");
  const made = `${await writeData(folder)}\n${readFileSync(script, "utf8")}`;
  const marker = join(folder, "made-by.txt");
  if (existsSync(marker) && readFileSync(marker, "utf8") === made) return;
  rmSync(marker, { force: true });
  await runPython(python, script, [folder]);
  writeFileSync(marker, made);
}

function runPython(python: string, script: string, args: readonly string[]): Promise<void> {
  return new Promise((done, fail) => {
    const child = spawn(python, [script, ...args], {
      stdio: ["ignore", "inherit", "inherit"],
      env: { ...process.env, PYTHONPATH: join(packageRoot(), "py") },
    });
    child.on("error", fail);
    child.on("close", (code, signal) =>
      code === 0 ? done() : fail(new Error(`${script} ended with ${code ?? signal}`)),
    );
  });
}
