import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type ScoreArguments, scoreCommand } from "../../../sdk/cli/score-command.js";
import { withDuckDb } from "../../../sdk/data/duckdb.js";
import { rejectionOf, tempFolder } from "../temp.js";

const reward = `\
import { abstain, defineReward, score } from "genenv";
import { z } from "zod";
import { bonus } from "./bonus.ts";
export default defineReward({
  name: "words",
  groundTruth: z.string(),
  score({ response, groundTruth }) {
    if (response === "?") return abstain("no idea");
    if (response === "throw") throw new RangeError("too far");
    if (response === "loop") for (;;);
    if (response === "kill") process.kill(process.pid, "SIGKILL");
    if (response === "log") console.log("seen", groundTruth);
    return score(response === groundTruth ? 1 : bonus, { metrics: { length: response.length } });
  },
});
`;
const bonus = "export const bonus = 0.25;\n";

const lines = (rows: unknown[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join("");
const asked = (...responses: unknown[]): string =>
  lines(responses.map((response) => ({ response, ground_truth: "3" })));

function project(files: Record<string, string>): string {
  const folder = tempFolder({ "reward.ts": reward, "bonus.ts": bonus, ...files });
  // Run from its sources, the package's own graders are bundled as a user's file is.
  const packages = join(import.meta.dirname, "../../../node_modules");
  symlinkSync(packages, join(folder, "node_modules"));
  return folder;
}

interface Scored {
  code: number;
  text: string;
}

async function score(cwd: string, options: ScoreArguments): Promise<Scored> {
  let text = "";
  const output = { write: (part: string) => (text += part) };
  const streams = { output, cwd, onInterrupt: () => () => {}, leave: () => {} };
  const code = await scoreCommand({ reward: "./reward.ts", ...options }, streams);
  return { code, text };
}

describe("a summary", () => {
  test("has counts, the mean, parts, a histogram and the speed", async () => {
    const cwd = project({ "cases.jsonl": asked("3", "4", "?", "5") });
    const { code, text } = await score(cwd, { in: "cases.jsonl" });
    expect(code).toBe(0);
    expect(text).toMatch(
      /^reward "words" on 4 responses: 3 scored, 1 abstained, 0 failed\nmean 0.5 {2}\(parts: length 1\)\n {2}0.25 {2}#{40} 2\n {5}1 {2}#{20} 1\nabstained 1: no idea\n[\d,]+ samples a second\n$/,
    );
  });

  test("names each kind of failure once with the user's own line, and leaves with 1", async () => {
    const cwd = project({ "cases.jsonl": asked("throw", "3", "loop", "throw") });
    const { code, text } = await score(cwd, { in: "cases.jsonl", timeoutMs: 300 });
    expect(code).toBe(1);
    expect(text).toContain(
      'failed threw 2; the first:\n  reward "words" threw for sample 0 of task row-1: RangeError: too far\n',
    );
    expect(text).toMatch(/ {6}at .*reward\.ts:9:\d+\)\nfailed timeout 1; the first:\n/);
    expect(text).not.toContain("define.");
    expect(text).toContain(
      'reward "words" took more than 300 ms for sample 2 of task row-3; make it faster or raise genenv.hooks.timeout_ms',
    );
  });

  test("as JSON is one object, with nothing else on the output", async () => {
    const cwd = project({ "cases.jsonl": asked("3", "log", "throw") });
    const { code, text } = await score(cwd, { in: "cases.jsonl", json: true });
    expect(code).toBe(1);
    expect(JSON.parse(text)).toMatchObject({
      type: "score",
      reward: "words",
      rows: 3,
      scored: 2,
      mean: 0.625,
      abstained: {},
      failed: { threw: { count: 1 } },
      metrics: { length: 2 },
      histogram: [
        { from: 0.25, to: 0.25, count: 1 },
        { from: 1, to: 1, count: 1 },
      ],
      changes: null,
    });
  });

  test("is followed by what the reward printed, with task and sample", async () => {
    const cwd = project({ "cases.jsonl": asked("3", "log") });
    const { text } = await score(cwd, { in: "cases.jsonl" });
    expect(text).toMatch(/the reward printed:\n {2}\S+ \[task row-2 sample 1\] seen 3\n$/);
  });

  test("is of every row, however many there are", async () => {
    const cwd = project({ "cases.jsonl": asked(...Array(2000).fill("3"), "throw") });
    const { text } = await score(cwd, { in: "cases.jsonl" });
    expect(text).toContain('reward "words" on 2,001 responses: 2000 scored, 0 abstained, 1 failed');
    expect(text).toContain("for sample 2000 of task row-2001");
  });

  test("comes also where a sample takes the whole host down with it", async () => {
    const cwd = project({ "cases.jsonl": asked("3", "kill", "4") });
    const { code, text } = await score(cwd, { in: "cases.jsonl" });
    expect(code).toBe(1);
    expect(text).toContain("2 scored, 0 abstained, 1 failed");
    expect(text).toContain('reward "words" took the hook host down for sample 1 of task row-2');
  });
});

describe("what it reads and writes", () => {
  test("a built-in grader and veRL's own layout, from Parquet", async () => {
    const cwd = project({});
    const cases = ["\\boxed{4}", "\\boxed{5}"].map((response) => ({
      response,
      data_source: "sums",
      reward_model: { style: "rule", ground_truth: "4" },
    }));
    writeFileSync(join(cwd, "cases.json"), JSON.stringify(cases));
    await withDuckDb((connection) =>
      connection.run(
        `COPY (SELECT * FROM read_json('${cwd}/cases.json')) TO '${cwd}/cases.parquet' (FORMAT parquet)`,
      ),
    );
    const { code, text } = await score(cwd, { reward: "builtin:math", in: "cases.parquet" });
    expect(code).toBe(0);
    expect(text).toContain('reward "math" on 2 responses: 2 scored');
    expect(text).toContain("mean 0.5\n");
  });

  test("veRL's rollout dumps by their own names", async () => {
    const cwd = project({ "dump.jsonl": lines([{ input: "a", output: "3", gts: "3", score: 0 }]) });
    expect((await score(cwd, { in: "dump.jsonl" })).text).toContain("mean 1 ");
  });

  test("prompt, source and extra for a reward that uses them, and a row without is named", async () => {
    const uses = `\
import { defineReward } from "genenv";
import { z } from "zod";
export default defineReward({
  name: "all", groundTruth: z.string(), uses: ["messages", "dataSource", "extra"],
  score: ({ messages, dataSource, extra }) =>
    messages[0].content.length + (dataSource ?? "").length + Number(extra.n),
});
`;
    const row = { response: "", ground_truth: "3", data_source: "ab", extra_info: { n: 4 } };
    const cwd = project({
      "uses.ts": uses,
      "good.jsonl": lines([{ ...row, prompt: "one" }]),
      "bad.jsonl": lines([{ ...row, prompt: "one" }, row]),
    });
    expect((await score(cwd, { reward: "./uses.ts", in: "good.jsonl" })).text).toContain(
      "mean 9\n",
    );
    const error = await rejectionOf(score(cwd, { reward: "./uses.ts", in: "bad.jsonl" }));
    expect(error).toMatchObject({ code: "bad-row", message: "row 2, prompt is empty" });
  });

  test("a composition, whose parts are reported by name", async () => {
    const composed = `\
import { weighted } from "genenv";
import { contains, exact } from "genenv/graders";
export default weighted({ right: 1, format: 0.5 }, { right: exact, format: contains });
`;
    const cwd = project({ "composed.ts": composed, "cases.jsonl": asked("3", "it is 3", "no") });
    const { text } = await score(cwd, { reward: "./composed.ts", in: "cases.jsonl" });
    // (1.5 + 0.5 + 0) / 3; one of three is right, two of three have it in them.
    expect(text).toContain("mean 0.6667  (parts: right 0.3333, format 0.6667)\n");
  });

  test("rows with score, abstain and failure go to a JSONL file", async () => {
    const cwd = project({ "cases.jsonl": asked("3", "?", "throw") });
    await score(cwd, { in: "cases.jsonl", out: "out/scores.jsonl" });
    const rows = readFileSync(join(cwd, "out/scores.jsonl"), "utf8").trim().split("\n");
    expect(rows.map((row) => JSON.parse(row))).toMatchObject(
      [
        { row: 1, task: "row-1", response: "3", ground_truth: "3", result: "score", score: 1 },
        { row: 2, result: "abstain", score: null, code: null, reason: "no idea" },
        { row: 3, result: "failed", score: null, code: "threw", reason: /RangeError/ },
      ].map((row) =>
        row.reason instanceof RegExp ? { ...row, reason: expect.stringMatching(row.reason) } : row,
      ),
    );
  });

  test("and to a Parquet file", async () => {
    const cwd = project({ "cases.jsonl": asked("3", "?") });
    await score(cwd, { in: "cases.jsonl", out: "scores.parquet" });
    const rows = await withDuckDb(async (connection) =>
      (
        await connection.runAndReadAll(`SELECT * FROM read_parquet('${cwd}/scores.parquet')`)
      ).getRowObjectsJson(),
    );
    expect(rows).toMatchObject([
      { row: "1", ground_truth: '"3"', score: 1, metrics: '{"length":1}', reason: null },
      { row: "2", result: "abstain", score: null, reason: "no idea" },
    ]);
  });

  test("a row that can't be used is named, and no file is written", async () => {
    const cwd = project({ "cases.jsonl": asked("3", 7) });
    const error = await rejectionOf(score(cwd, { in: "cases.jsonl", out: "scores.jsonl" }));
    expect(error).toMatchObject({
      code: "bad-row",
      message: "row 2, response is number; it takes a text",
    });
    expect(existsSync(join(cwd, "scores.jsonl"))).toBe(false);
    writeFileSync(join(cwd, "cases.jsonl"), lines([{ response: "3" }]));
    await expect(score(cwd, { in: "cases.jsonl" })).rejects.toMatchObject({
      message: "row 1, ground_truth is missing",
    });
  });

  test("nothing to score, or no reward, is refused", async () => {
    const cwd = project({});
    await expect(score(cwd, {})).rejects.toMatchObject({
      code: "bad-option",
      message: "give either --in FILE or --run NAME",
    });
    await expect(score(cwd, { in: "x.jsonl", reward: undefined })).rejects.toMatchObject({
      code: "hook-unset",
    });
    await expect(score(cwd, { in: "none.jsonl" })).rejects.toMatchObject({ code: "data-missing" });
    await expect(score(cwd, { in: "x.jsonl", reward: "builtin:maths" })).rejects.toMatchObject({
      code: "unknown-hook",
    });
  });
});

describe("--watch", () => {
  test("scores again when the reward, what it imports or the cases are saved", async () => {
    const cwd = project({ "cases.jsonl": asked("3", "4") });
    const watched = watch(cwd, { in: "cases.jsonl" });
    await watched.shows(/mean 0.625 /, 1);
    writeFileSync(join(cwd, "bonus.ts"), "export const bonus = 0.5;\n");
    await watched.shows(/mean 0.75 /, 2);
    writeFileSync(join(cwd, "cases.jsonl"), asked("3"));
    await watched.shows(/on 1 response: 1 scored/, 3);
    writeFileSync(join(cwd, "reward.ts"), "export default (;\n");
    await watched.shows(/error: .*reward\.ts:1:\d+: Unexpected ";"/, 4);
    writeFileSync(join(cwd, "reward.ts"), reward.replace('"words"', '"mended"'));
    await watched.shows(/reward "mended" on 1 response/, 5);
    expect(await watched.end()).toBe(0);
  });

  test("finds a file that the reward imports and that is saved after it", async () => {
    const cwd = project({ "cases.jsonl": asked("3", "4") });
    const watched = watch(cwd, { in: "cases.jsonl" });
    await watched.shows(/mean 0.625 /, 1);
    const importing = reward.replace("./bonus.ts", "./later.ts");
    expect(importing).not.toBe(reward);
    writeFileSync(join(cwd, "reward.ts"), importing);
    await watched.shows(/error: .*Could not resolve/, 2);
    writeFileSync(join(cwd, "later.ts"), "export const bonus = 0.5;\n");
    await watched.shows(/mean 0.75 /, 3);
    expect(await watched.end()).toBe(0);
  });

  test("needs a file to watch", async () => {
    const cwd = project({ "cases.jsonl": asked("3") });
    await expect(
      score(cwd, { reward: "builtin:math", in: "cases.jsonl", watch: true }),
    ).rejects.toMatchObject({ code: "bad-option" });
  });
});

interface Watched {
  /** Waits for a text, and for so many scans. */
  shows(text: RegExp, scans: number): Promise<void>;
  end(): Promise<number>;
}

function watch(cwd: string, options: ScoreArguments): Watched {
  let text = "";
  let interrupt = (): void => {};
  const ended = scoreCommand(
    { reward: "./reward.ts", watch: true, ...options },
    {
      output: { write: (part: string) => (text += part) },
      cwd,
      onInterrupt: (listener) => {
        interrupt = listener;
        return () => {};
      },
      leave: () => {},
    },
  );
  return {
    shows: async (expected, scans) => {
      await expect.poll(() => text, { timeout: 30_000 }).toMatch(expected);
      await expect.poll(() => text.split("waiting for the next save").length - 1).toBe(scans);
    },
    end: () => {
      interrupt();
      return ended;
    },
  };
}

describe("--run", () => {
  test("shows which of a run's scores a changed reward changes", async () => {
    const cwd = await projectWithRun();
    const { code, text } = await score(cwd, { run: "first", reward: undefined });
    expect(code).toBe(1);
    expect(text).toContain('reward "words" on 5 responses: 3 scored, 1 abstained, 1 failed');
    expect(text).toContain("3 scores of 5 changed: 1 up, 1 down, 1 other\nmean 0.5 -> 0.5\n");
    expect(text).toContain('  t-1: 0 -> 0.25  "4"\n');
    expect(text).toContain('  t-1: 0.5 -> 0.25  "5"\n');
    expect(text).toContain('  t-2: failed timeout -> abstain  "?"\n');
    expect(text).not.toContain("the environment's answer");
  });

  test("takes another reward in the run's place", async () => {
    const cwd = await projectWithRun();
    const { text } = await score(cwd, { run: "first", reward: "builtin:exact", json: true });
    expect(JSON.parse(text)).toMatchObject({
      reward: "exact",
      rows: 5,
      changes: { same: 2, changed: 3, up: 0, down: 1, meanBefore: 0.5 },
    });
  });

  test("a run that isn't there, or one without a reward, is refused", async () => {
    const cwd = await projectWithRun();
    await expect(score(cwd, { run: "second" })).rejects.toMatchObject({ code: "run-missing" });
    writeFileSync(join(cwd, "runs/first/config.yaml"), "genenv:\n  hooks: {reward: null}\n");
    await expect(score(cwd, { run: "first", reward: undefined })).rejects.toMatchObject({
      code: "hook-unset",
      message: "the run first has no reward in a file",
    });
  });
});

/** A run with five stored responses of the agent, by a reward that has changed since. */
async function projectWithRun(): Promise<string> {
  const cwd = project({ "runs/first/config.yaml": "" });
  writeFileSync(
    join(cwd, "runs/first/config.yaml"),
    `genenv:\n  hooks: {reward: ${join(cwd, "reward.ts")}, timeout_ms: 2000}\n`,
  );
  const stored = {
    epoch: 1,
    role: "agent",
    phase: "train",
    prompt: '[{"role":"user","content":"1+2"}]',
  };
  const rows = [
    { task: "t-1", response: "3", score: 1 },
    { task: "t-1", response: "4", score: 0 },
    { task: "t-1", response: "5", score: 0.5 },
    { task: "t-2", response: "?", score: 0, failure: "timeout", reason: "too slow" },
    { task: "t-2", response: "throw", failure: "threw", reason: "RangeError at line 7" },
  ].map((row, sample) => ({ failure: null, reason: null, score: null, ...stored, sample, ...row }));
  const answer = { ...rows[0], role: "environment", response: "the environment's answer" };
  await writeRollouts(join(cwd, "runs/first/rollouts"), [...rows, answer]);
  return cwd;
}

async function writeRollouts(dir: string, rows: object[]): Promise<void> {
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, "rows.json"), JSON.stringify(rows));
  const columns = `epoch::INTEGER epoch, role, phase, task, "sample"::INTEGER "sample", prompt, response,
    NULL::INTEGER response_tokens, '"3"' ground_truth, NULL::VARCHAR data_source, NULL::VARCHAR extra,
    score::DOUBLE score, NULL::BOOLEAN success, NULL::VARCHAR parts, failure::VARCHAR failure, reason::VARCHAR reason`;
  await withDuckDb((connection) =>
    connection.run(
      `COPY (SELECT ${columns} FROM read_json('${dir}/rows.json')) TO '${dir}/epoch-000001.parquet' (FORMAT parquet)`,
    ),
  );
}
