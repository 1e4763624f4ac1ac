import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { expect, test } from "vitest";
import { tempFolder } from "../sdk/temp.js";
import { codeBlocks, readPage, root } from "./pages.js";

type Row = Record<string, unknown>;

/** The columns that the loop writes, as its own schema has them. */
function columnsOf(file: string): string[] {
  const source = readFileSync(join(root, "py", "genenv", "loop", file), "utf8");
  const schema = /_SCHEMA = pa\.schema\(\s*\[(.*?)\n {4}\]/s.exec(source)?.[1] ?? "";
  return [...schema.matchAll(/\("(\w+)", pa\./g)].map(([, name = ""]) => name);
}

const quoted = (value: unknown): string =>
  value === null
    ? "null"
    : typeof value === "string"
      ? `'${value}'`
      : Array.isArray(value)
        ? `[${value.map(quoted).join(", ")}]::varchar[]`
        : String(value);

const typed = (name: string, value: unknown): string =>
  ["success_rate", "reward"].includes(name) ? `${quoted(value)}::double` : quoted(value);

async function write(
  connection: DuckDBConnection,
  file: string,
  columns: readonly string[],
  rows: readonly Row[],
): Promise<void> {
  const selects = rows.map(
    (row) =>
      `select ${columns.map((name) => `${typed(name, row[name] ?? null)} as ${name}`).join(", ")}`,
  );
  await connection.run(`copy (${selects.join(" union all ")}) to '${file}' (format parquet)`);
}

const seed = { source: "seed", parent_seeds: [], written_epoch: 0, kept: false, reason: "seed" };
const made = {
  source: "environment",
  parent: "e1-a0",
  parent_seeds: ["seed-0"],
  written_epoch: 1,
};
const tried = { responses: 4, scored: 4, trained: true };
const untried = { responses: 0, scored: 0, trained: false, kept: false };

/** A run of two epochs, small enough to be followed by eye. */
const ledger: Row[] = [
  { epoch: 1, task: "seed-0", prompt: "1 + 1?", success_rate: 0.25, ...seed, ...tried },
  {
    epoch: 1,
    task: "e1-a0-t0",
    prompt: "2 + 2?",
    success_rate: 0.5,
    reward: 1,
    kept: true,
    reason: "kept",
    ...made,
    ...tried,
  },
  { epoch: 1, task: "e1-a0-t1", prompt: "9 + 9?", ...made, ...untried, reason: "waiting" },
  { epoch: 1, answer: "hm", reward: 0, ...made, parent: "e1-a1", ...untried, reason: "no-task" },
  {
    epoch: 2,
    task: "e1-a0-t0",
    prompt: "2 + 2?",
    success_rate: 0.75,
    reward: 0.5,
    kept: false,
    reason: "too-easy",
    ...made,
    ...tried,
  },
  {
    epoch: 2,
    task: "e1-a0-t1",
    prompt: "9 + 9?",
    success_rate: 0.5,
    reward: 1,
    kept: true,
    reason: "kept",
    ...made,
    ...tried,
    trained: false,
  },
];
const rollouts: Row[] = [
  { epoch: 1, role: "environment", task: "e1-a0", prompt: "write", response: "2 + 2? 9 + 9?" },
  { epoch: 1, role: "environment", task: "e1-a1", prompt: "write", response: "hm" },
  { epoch: 1, role: "agent", task: "seed-0", prompt: "1 + 1?", response: "2" },
];

/** What each query of the page gives on that run, as it stands there. */
async function answers(): Promise<Row[][]> {
  const folder = join(tempFolder(), "first");
  mkdirSync(join(folder, "rollouts"), { recursive: true });
  const connection = await (await DuckDBInstance.create()).connect();
  await write(connection, join(folder, "tasks.parquet"), columnsOf("ledger.py"), ledger);
  const file = join(folder, "rollouts", "epoch-000001.parquet");
  await write(connection, file, columnsOf("rollouts.py"), rollouts);
  const results: Row[][] = [];
  for (const { page, text } of codeBlocks(["sql"])) {
    if (page !== "docs/ledger.md") continue;
    const reader = await connection.runAndReadAll(text.replaceAll("runs/first", folder));
    results.push(reader.getRowObjectsJson());
  }
  return results;
}

test("the page has a row for every column", () => {
  const cells = [...readPage("docs/ledger.md").matchAll(/^\| (`.*?`) \|/gm)].map(
    ([, cell]) => cell ?? "",
  );
  const named = cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name));
  expect(named.sort()).toEqual(columnsOf("ledger.py").sort());
});

test("each query gives what its heading says", async () => {
  const [writers, tries, trained, rejects, pool, seeds, ...more] = await answers();
  expect(more).toEqual([]);
  const written = {
    written_epoch: 1,
    parent: "e1-a0",
    parent_seeds: ["seed-0"],
    prompt: "write",
    response: "2 + 2? 9 + 9?",
  };
  expect(writers).toEqual([
    { task: "e1-a0-t0", ...written },
    { task: "e1-a0-t1", ...written },
  ]);
  expect(tries).toEqual([
    { task: "e1-a0-t0", epoch: 1, success_rate: 0.5, reward: 1, kept: true, reason: "kept" },
    {
      task: "e1-a0-t0",
      epoch: 2,
      success_rate: 0.75,
      reward: 0.5,
      kept: false,
      reason: "too-easy",
    },
    { task: "e1-a0-t1", epoch: 2, success_rate: 0.5, reward: 1, kept: true, reason: "kept" },
  ]);
  expect(trained).toEqual([
    { task: "e1-a0-t0", times_trained: "2", first_rate: 0.5, last_rate: 0.75 },
    { task: "seed-0", times_trained: "1", first_rate: 0.25, last_rate: 0.25 },
    { task: "e1-a0-t1", times_trained: "0", first_rate: 0.5, last_rate: 0.5 },
  ]);
  expect(rejects).toEqual([
    { epoch: 1, reason: "no-task", count: "1" },
    { epoch: 1, reason: "waiting", count: "1" },
    { epoch: 2, reason: "too-easy", count: "1" },
  ]);
  expect(pool).toEqual([{ task: "e1-a0-t1", prompt: "9 + 9?", success_rate: 0.5 }]);
  expect(seeds).toEqual([{ seed: "seed-0", tasks: "2", mean_reward: 5 / 6 }]);
});
