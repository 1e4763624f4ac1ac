import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sqlText, withDuckDb } from "../../../sdk/data/duckdb.js";

export interface BigRun {
  epochs: number;
  tasksPerEpoch: number;
  responsesPerTask: number;
  /** A response of every task. */
  text?: string;
}

/** Writes a run's folder as the loop does, with made-up numbers: harder sums epoch by epoch. */
export async function writeBigRun(dir: string, run: BigRun): Promise<void> {
  const { epochs, tasksPerEpoch, responsesPerTask } = run;
  const text = run.text ?? "The sum is <b>not</b> easy: I get";
  mkdirSync(join(dir, "rollouts"), { recursive: true });
  writeFileSync(
    join(dir, "config.yaml"),
    "# A made-up run.\ngenenv:\n  alpha: 0.5\n  beta: 5\ndata:\n  train_batch_size: 100\n",
  );
  writeFileSync(join(dir, "metrics.jsonl"), metricLines(epochs, tasksPerEpoch));
  await withDuckDb(async (connection) => {
    await connection.run("SELECT setseed(0.5)");
    await connection.run(`CREATE TABLE tasks AS ${tasksSql(epochs, tasksPerEpoch)}`);
    const tasks = sqlText(join(dir, "tasks.parquet"));
    await connection.run(`COPY (SELECT * FROM tasks ORDER BY epoch) TO ${tasks} (FORMAT parquet)`);
    for (let epoch = 1; epoch <= epochs; epoch++) {
      const file = `epoch-${String(epoch).padStart(6, "0")}.parquet`;
      const out = sqlText(join(dir, "rollouts", file));
      const sql = rolloutsSql(epoch, responsesPerTask, text);
      await connection.run(`COPY (${sql}) TO ${out} (FORMAT parquet)`);
    }
  });
}

function metricLines(epochs: number, tasks: number): string {
  const at = (epoch: number, phase: string, values: object): object => ({
    time: 1_800_000_000 + epoch * 60,
    epoch,
    step: epoch,
    phase,
    ...values,
  });
  const lines = [at(0, "validation", { "val/success_rate": 0.1, "val/reward_mean": 0.1 })];
  for (let epoch = 1; epoch <= epochs; epoch++) {
    const gone = epoch / epochs;
    const wave = Math.sin(epoch) / 20;
    lines.push(
      at(epoch, "agent", {
        "agent/reward_mean": 0.3 + gone / 4 + wave,
        "agent/success_rate": 0.3 + gone / 5 + wave,
        "agent/failed/timeout": 1 + (epoch % 3),
        "agent/abstained": 4,
        "actor/grad_norm": 1 + wave,
        "timing_s/env_gen": 9,
        "timing_s/gen": 22,
        "timing_s/update_agent": 30 + wave,
      }),
      at(epoch, "environment", {
        "env/reward_mean": 0.5 + gone / 3 + wave,
        "env/valid_rate": 0.6 + gone / 3,
        "timing_s/update_env": 14,
        "tasks/kept": tasks / 2,
      }),
    );
    if (epoch % 5 === 0) {
      lines.push(at(epoch, "validation", { "val/success_rate": 0.1 + gone / 2 }));
    }
  }
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

/** Of each epoch's rows a tenth are rejected answers, and a tenth are seeds. */
const tasksSql = (epochs: number, tasksPerEpoch: number): string => `
  SELECT e::INTEGER AS epoch,
    CASE WHEN n % 10 = 0 THEN NULL WHEN n % 10 = 1 THEN 'seed-' || n ELSE 'e' || e || '-a' || n || '-t0' END AS task,
    CASE WHEN n % 10 = 1 THEN 'seed' ELSE 'environment' END AS source,
    CASE WHEN n % 10 = 1 THEN NULL ELSE 'e' || e || '-a' || n END AS parent,
    CASE WHEN n % 10 = 1 THEN []::VARCHAR[] ELSE ['seed-1', 'seed-11'] END AS parent_seeds,
    CASE WHEN n % 10 = 1 THEN 0 ELSE e END::INTEGER AS written_epoch,
    CASE WHEN n % 10 = 0 THEN NULL ELSE 'What is ' || (5 + (random() * 10 * e)::INTEGER) || ' + ' || (3 + n % (10 * e)) || '?' END AS prompt,
    CASE WHEN n % 10 = 0 THEN NULL ELSE '"' || (n + e) || '"' END AS ground_truth,
    CASE WHEN n % 10 = 0 THEN NULL ELSE floor(random() * 9) / 8 END::DOUBLE AS success_rate,
    CASE WHEN n % 10 = 0 THEN 0 ELSE 8 END::INTEGER AS responses,
    CASE WHEN n % 10 = 0 THEN 0 ELSE 8 END::INTEGER AS scored,
    CASE WHEN n % 10 < 2 THEN NULL ELSE random() END::DOUBLE AS reward,
    n % 10 <> 0 AS trained,
    n % 10 > 4 AS kept,
    CASE WHEN n % 10 = 0 THEN 'no-sum' WHEN n % 10 = 1 THEN 'seed' WHEN n % 10 > 4 THEN 'kept' WHEN n % 2 = 0 THEN 'too-hard' ELSE 'too-easy' END AS reason,
    CASE WHEN n % 10 = 0 THEN 'an answer <script>without</script> a sum' ELSE NULL END AS answer
  FROM range(1, ${epochs + 1}) epochs(e), range(${tasksPerEpoch}) numbers(n)`;

const rolloutsSql = (epoch: number, responses: number, text: string): string => `
  SELECT * FROM (
    SELECT epoch, 'environment' AS role, 'train' AS phase, parent AS task, 0::INTEGER AS sample,
      '[{"role":"user","content":"Write a sum."}]' AS prompt, 'Here is one: ' || coalesce(prompt, answer) AS response,
      20::INTEGER AS response_tokens, NULL::VARCHAR AS ground_truth, NULL::VARCHAR AS data_source, reward AS score,
      NULL::BOOLEAN AS success, NULL::VARCHAR AS parts, NULL::VARCHAR AS failure, NULL::VARCHAR AS reason
    FROM tasks WHERE epoch = ${epoch} AND parent IS NOT NULL
    UNION ALL
    SELECT epoch, 'agent', 'train', task, s::INTEGER, '[{"role":"user","content":"a sum"}]', ${sqlText(text)} || ' ' || s,
      12, ground_truth, 'genenv', CASE WHEN s = 7 THEN NULL ELSE (s % 2)::DOUBLE END, s % 2 = 1, '{"digits":2.0}',
      CASE WHEN s = 7 THEN 'timeout' END, CASE WHEN s = 7 THEN 'no result within 5000 ms' END
    FROM tasks, range(${responses}) samples(s) WHERE epoch = ${epoch} AND task IS NOT NULL
  ) ORDER BY role DESC, task, sample`;
