import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type DataArguments, dataCommand } from "../../../sdk/cli/data-command.js";
import { readDataFile } from "../../../sdk/data/read.js";
import { fakeParts } from "../run/fake-parts.js";
import { tempProject } from "../run/project.js";
import { rejectionOf, tempFolder } from "../temp.js";

interface Ran {
  code: number;
  text: string;
}

async function data(cwd: string, files: string[], options: DataArguments = {}): Promise<Ran> {
  let text = "";
  // A token for each character: the lengths of the prompts are theirs.
  const parts = fakeParts({
    "token-lengths": async ({ prompts }) => ({
      lengths: (prompts as { content: string }[][]).map((prompt) => prompt[0]?.content.length),
    }),
  });
  const output = { write: (part: string) => (text += part) };
  const code = await dataCommand(files, options, { output, parts, cwd });
  expect(parts.open).toEqual(new Set());
  return { code, text };
}

const line = (question: unknown, answer: unknown): string =>
  `${JSON.stringify({ question, answer })}\n`;
const sums = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, i) => line(`${from + i} + 1?`, String(from + i + 1))).join(
    "",
  );

describe("what it says", () => {
  test("rows, columns, sources, and what wasn't looked at", async () => {
    const folder = tempFolder({ "a.jsonl": sums(0, 3) });
    const { code, text } = await data(folder, ["a.jsonl"]);
    expect(code).toBe(0);
    expect(text).toContain("a.jsonl: 3 rows\n  column question VARCHAR\n");
    expect(text).toContain("duplicates: none\n");
    expect(text).toContain("ground truths not checked: name the reward with --reward\n");
    expect(text).toContain("prompt tokens not counted: name the model with --model\n");
  });

  test("bad rows, by number, and 2", async () => {
    const folder = tempFolder({ "a.jsonl": sums(0, 2) + line("", "1") + line("x", null) });
    const { code, text } = await data(folder, ["a.jsonl"]);
    expect(code).toBe(2);
    expect(text).toContain(
      "can't be used: 2 rows\n    row 3: question is empty\n    row 4: answer is empty\n",
    );
  });

  test("ground truths that the reward's schema refuses", async () => {
    const cwd = await tempProject({ "b.jsonl": sums(0, 1) + line("y", "many") });
    const { code, text } = await data(cwd, ["b.jsonl"], { reward: "./reward.ts" });
    expect(code).toBe(2);
    expect(text).toContain(
      'refused by the reward: 1 row\n    row 2: ground truth is "many", which the reward "digits" refuses: ',
    );
  });

  test("ground truths in which a grader finds no answer", async () => {
    const folder = tempFolder({ "a.jsonl": line("x", "1") + line("y", " ") });
    const { text } = await data(folder, ["a.jsonl"], { reward: "builtin:math" });
    expect(text).toContain('row 2: ground truth is " ": the ground truth holds no answer');
  });

  test("duplicates, case and blanks aside, and leaks between files", async () => {
    const folder = tempFolder({
      "train.jsonl": line("What is 1?", "1") + line("what  is 1?", "1") + line("b", "2"),
      "val.jsonl": line("c", "1") + line("WHAT is\n1?", "1"),
    });
    const { code, text } = await data(folder, ["train.jsonl", "val.jsonl"]);
    expect(code).toBe(0);
    expect(text).toContain("duplicates: 1 row, such as row 2, which repeats row 1\n");
    expect(text).toContain(
      "leak: 1 prompt of val.jsonl also in train.jsonl, such as row 2, which is row 1 there\n",
    );
  });

  test("token lengths, and the prompts over the limit with what to do", async () => {
    const prompts = Array.from({ length: 20 }, (_, i) => line("x".repeat(i + 1), "1")).join("");
    const folder = tempFolder({ "a.jsonl": prompts });
    const fits = await data(folder, ["a.jsonl"], { model: "builtin:tiny" });
    expect(fits.text).toContain(
      "prompt tokens: p50 10, p95 19, max 20 (data.max_prompt_length has to be 20 or more)",
    );
    const over = await data(folder, ["a.jsonl"], { model: "builtin:tiny", maxPromptLength: "18" });
    expect(over.code).toBe(2);
    expect(over.text).toContain(
      "2 rows over data.max_prompt_length (18): row 19 (19), row 20 (20)\n",
    );
    expect(over.text).toContain("set data.max_prompt_length=20");
  });

  test("everything as one JSON object", async () => {
    const folder = tempFolder({ "a.jsonl": sums(0, 3) });
    const { text } = await data(folder, ["a.jsonl"], { json: true });
    const report = JSON.parse(text);
    expect(report).toMatchObject({ type: "data", leaks: [], written: [] });
    expect(report.files[0]).toMatchObject({ rows: 3, duplicates: { count: 0 }, tokens: null });
  });
});

describe("what it writes", () => {
  test("all rows of several files as veRL's Parquet", async () => {
    const folder = tempFolder({ "a.jsonl": sums(0, 2), "b.csv": "prompt,ground_truth\nx,y\n" });
    const { code, text } = await data(folder, ["a.jsonl", "b.csv"], { out: "out/all.parquet" });
    expect(code).toBe(0);
    expect(text).toMatch(/wrote .*out\/all\.parquet: 3 rows\n$/);
    const { rows, nested } = await readDataFile(join(folder, "out/all.parquet"));
    expect(nested).toBe(true);
    expect(rows.map((row) => [row.dataSource, row.groundTruth])).toEqual([
      ["a", "1"],
      ["a", "2"],
      ["b", "y"],
    ]);
  });

  test("a split by seed, the same each time, without a leak", async () => {
    const folder = tempFolder({ "a.jsonl": sums(0, 20) + sums(0, 5) });
    const split = async (out: string, seed: string): Promise<unknown[]> => {
      await data(folder, ["a.jsonl"], { out, split: "0.8", seed });
      const { rows } = await readDataFile(join(folder, out, "train.parquet"));
      return rows.map((row) => row.prompt[0]?.content);
    };
    const first = await split("one", "1");
    expect(await split("two", "1")).toEqual(first);
    expect(await split("three", "2")).not.toEqual(first);
    const { text } = await data(folder, ["one/train.parquet", "one/val.parquet"]);
    expect(text).not.toContain("leak");
  });

  test("columns by name, and only the usable rows with --drop", async () => {
    const folder = tempFolder({ "a.jsonl": '{"q":"x","label":"1"}\n{"q":"","label":"2"}\n' });
    const options = { promptKey: "q", groundTruthKey: "label", out: "a.parquet" };
    expect((await rejectionOf(data(folder, ["a.jsonl"], options))).message).toBe(
      "1 of 2 rows can't be used, so nothing is written",
    );
    expect(readdirSync(folder)).toEqual(["a.jsonl"]);
    expect((await data(folder, ["a.jsonl"], { ...options, drop: true })).code).toBe(0);
    expect((await readDataFile(join(folder, "a.parquet"))).rows).toHaveLength(1);
  });

  test("never over a file that is there, unless told so, and never over one it reads", async () => {
    const folder = tempFolder({ "a.jsonl": sums(0, 2) });
    await data(folder, ["a.jsonl"], { out: "a.parquet" });
    const again = rejectionOf(data(folder, ["a.jsonl"], { out: "a.parquet" }));
    expect(await again).toMatchObject({ code: "file-exists" });
    expect((await data(folder, ["a.jsonl"], { out: "a.parquet", force: true })).code).toBe(0);
    const before = readFileSync(join(folder, "a.parquet"));
    const itself = { out: "a.parquet", force: true };
    expect(await rejectionOf(data(folder, ["a.parquet"], itself))).toMatchObject({
      code: "file-exists",
    });
    expect(readFileSync(join(folder, "a.parquet"))).toEqual(before);
  });
});

describe("what it refuses", () => {
  test.each<[DataArguments, string]>([
    [{ split: "0.5" }, "there is no --out"],
    [{ out: "a.parquet", split: "0.5" }, "--split writes two files"],
    [{ out: "a", split: "2" }, '--split is "2"; it takes a share such as 0.9'],
    [{ out: "a", sample: "-1" }, '--sample is "-1"; it takes a whole number'],
    [{ out: "a.csv" }, "has to end in .parquet"],
  ])("%j", async (options, message) => {
    const folder = tempFolder({ "a.jsonl": sums(0, 4) });
    expect((await rejectionOf(data(folder, ["a.jsonl"], options))).message).toContain(message);
    expect(existsSync(join(folder, "a"))).toBe(false);
  });

  test("a file that isn't there, and one named twice", async () => {
    const folder = tempFolder({ "a.jsonl": sums(0, 1) });
    expect(await rejectionOf(data(folder, ["b.jsonl"]))).toMatchObject({ code: "data-missing" });
    const twice = rejectionOf(data(folder, ["a.jsonl", "./a.jsonl"]));
    expect((await twice).message).toBe("a file is named twice");
  });
});
