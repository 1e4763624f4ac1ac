import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { DataError } from "../../../bridge/errors.js";
import { defineDataset } from "../../../sdk/data/define.js";
import { withDuckDb } from "../../../sdk/data/duckdb.js";
import { readDataFile } from "../../../sdk/data/read.js";
import { writeDataset } from "../../../sdk/data/write.js";
import { runPython, testPython } from "../../python-env.js";
import { rejectionOf, tempFolder } from "../temp.js";

const user = (content: string): { role: "user"; content: string } => ({ role: "user", content });

async function parquetOf(sql: string): Promise<string> {
  const file = join(tempFolder(), "data.parquet");
  await withDuckDb((connection) => connection.run(`COPY (${sql}) TO '${file}' (FORMAT parquet)`));
  return file;
}

const readText = (name: string, text: string): ReturnType<typeof readDataFile> =>
  readDataFile(join(tempFolder({ [name]: text }), name));

describe("writing", () => {
  const sums = defineDataset({
    name: "sums",
    ability: "math",
    items: [
      [1, 2],
      [3, 4],
    ] as const,
    toRow: ([a, b]) => ({
      prompt: `What is ${a} + ${b}?`,
      groundTruth: String(a + b),
      extra: { a },
    }),
  });

  test("what is written is read back", async () => {
    const file = join(tempFolder(), "deep", "sums.parquet");
    await writeDataset(sums, file);
    const read = await readDataFile(file);
    expect(read.nested).toBe(true);
    expect(read.rows).toEqual([
      {
        prompt: [user("What is 1 + 2?")],
        groundTruth: "3",
        dataSource: "sums",
        ability: "math",
        extra: { index: 0, a: 1 },
      },
      {
        prompt: [user("What is 3 + 4?")],
        groundTruth: "7",
        dataSource: "sums",
        ability: "math",
        extra: { index: 1, a: 3 },
      },
    ]);
    expect(readdirSync(join(file, ".."))).toEqual(["sums.parquet"]);
  });

  test("ground truths keep their type, nested ones too", async () => {
    const file = join(tempFolder(), "d.parquet");
    const truth = { name: "f", "odd key": [1, 2.5], on: true, none: null };
    await writeDataset([{ prompt: [user("x")], groundTruth: truth }], file);
    expect((await readDataFile(file)).rows[0]?.groundTruth).toEqual(truth);
  });

  test("ground truths of several types are refused", async () => {
    const rows = [
      { prompt: "x", groundTruth: 1 },
      { prompt: "y", groundTruth: "1" },
    ];
    const error = await rejectionOf(writeDataset(rows, join(tempFolder(), "d.parquet")));
    expect(error.message).toBe(
      "can't write groundTruth: it is integer in one row and text in another",
    );
  });

  test("rows are made one at a time, as they are written, from async items too", async () => {
    let made = 0;
    async function* items(): AsyncGenerator<number> {
      for (let i = 0; i < 5; i++) yield made++;
    }
    const dataset = defineDataset({
      name: "n",
      items: items(),
      toRow: (n) => ({ prompt: `${n}?`, groundTruth: n }),
    });
    expect(made).toBe(0);
    const file = join(tempFolder(), "d.parquet");
    expect(await writeDataset(dataset, file)).toEqual({ rows: 5 });
    expect((await readDataFile(file)).rows.map((row) => row.groundTruth)).toEqual([0, 1, 2, 3, 4]);
  });

  test("a ground truth that the dataset's schema refuses names the row, and leaves no file", async () => {
    const folder = tempFolder();
    const dataset = defineDataset({
      name: "sums",
      groundTruth: z.string().regex(/^\d+$/, "digits only"),
      items: ["1", "two"],
      toRow: (groundTruth) => ({ prompt: "x", groundTruth }),
    });
    const error = await rejectionOf(writeDataset(dataset, join(folder, "d.parquet")));
    expect(error.message).toBe(
      'row 2 of the dataset "sums" has the ground truth "two", which its schema refuses: digits only',
    );
    expect(readdirSync(folder)).toEqual([]);
    const typed = (): unknown =>
      defineDataset({
        name: "sums",
        groundTruth: z.string(),
        items: [1],
        // @ts-expect-error: the schema takes a text
        toRow: (groundTruth) => ({ prompt: "x", groundTruth }),
      });
    expect(typed).not.toThrow();
  });

  test("no rows, and a name that isn't Parquet's, are refused", async () => {
    const file = join(tempFolder(), "d.parquet");
    expect(await rejectionOf(writeDataset([], file))).toMatchObject({ code: "data-empty" });
    const rows = [{ prompt: "x", groundTruth: 1 }];
    expect(await rejectionOf(writeDataset(rows, "x.csv"))).toMatchObject({ code: "data-format" });
  });

  test.skipIf(!testPython())("pandas reads the layout that veRL's own data has", async () => {
    const file = join(tempFolder(), "sums.parquet");
    await writeDataset(sums, file);
    const program = `
import json, sys, pandas, pyarrow.parquet as pq
row = pandas.read_parquet(sys.argv[1]).iloc[0]
print(json.dumps({"prompt": list(row["prompt"]), "reward_model": row["reward_model"], "extra_info": row["extra_info"],
  "types": {f.name: str(f.type) for f in pq.read_schema(sys.argv[1])}}))`;
    expect(runPython(testPython() ?? "", program, file)).toEqual({
      prompt: [user("What is 1 + 2?")],
      reward_model: { style: "rule", ground_truth: "3" },
      extra_info: { index: 0, a: 1 },
      types: {
        data_source: "string",
        prompt: "list<element: struct<role: string, content: string>>",
        ability: "string",
        reward_model: "struct<style: string, ground_truth: string>",
        extra_info: "struct<index: int64, a: int64>",
      },
    });
  });
});

describe("reading", () => {
  test("reads flat JSONL, JSON and CSV", async () => {
    const rows = [{ question: "1 + 1?", answer: "02" }];
    const jsonl = await readText("a.jsonl", `${JSON.stringify(rows[0])}\n\n`);
    const json = await readText("a.json", JSON.stringify(rows));
    const csv = await readText("a.csv", 'question,answer\n"1 + 1?",02\n');
    for (const { rows: read, nested } of [jsonl, json, csv]) {
      expect(nested).toBe(false);
      expect(read).toMatchObject([{ prompt: [user("1 + 1?")], groundTruth: "02" }]);
    }
  });

  test("prompt and ground_truth are read before question and answer", async () => {
    const { rows } = await readText(
      "a.jsonl",
      '{"prompt":"p","question":"q","ground_truth":1,"answer":2}',
    );
    expect(rows).toMatchObject([{ prompt: [user("p")], groundTruth: 1 }]);
  });

  test("another prompt column can be named, as with veRL's data.prompt_key", async () => {
    const folder = tempFolder({ "a.jsonl": '{"text":"p","ground_truth":"1"}' });
    const { rows } = await readDataFile(join(folder, "a.jsonl"), { promptKey: "text" });
    expect(rows[0]?.prompt).toEqual([user("p")]);
  });

  test("columns and fields by name: prompt, ground truth, data source, extras", async () => {
    const row = { q: "p", meta: { answer: 7, topic: "sums" }, level: 2, answer: "not this" };
    const folder = tempFolder({ "a.jsonl": JSON.stringify({ ...row, extra_info: { own: 1 } }) });
    const names = {
      promptKey: "q",
      groundTruthKey: "meta.answer",
      dataSourceKey: "meta.topic",
      extraKeys: ["level", "meta.topic"],
    };
    const { rows, layout } = await readDataFile(join(folder, "a.jsonl"), names);
    expect(rows).toEqual([
      {
        prompt: [user("p")],
        groundTruth: 7,
        dataSource: "sums",
        ability: null,
        extra: { own: 1, level: 2, "meta.topic": "sums" },
      },
    ]);
    expect(layout.groundTruth).toBe("meta.answer");
  });

  test.each([
    [{ promptKey: "q" }, "q"],
    [{ groundTruthKey: "gold" }, "gold"],
    [{ dataSourceKey: "source" }, "source"],
    [{ extraKeys: ["answer", "level"] }, "level"],
  ])("a named column that isn't there is an error, not a guess: %j", async (names, column) => {
    const folder = tempFolder({ "a.jsonl": '{"question":"p","answer":"1"}' });
    const error = await rejectionOf(readDataFile(join(folder, "a.jsonl"), names));
    expect(error.message).toMatch(new RegExp(`has no column ${column}$`));
    expect(error).toMatchObject({
      code: "missing-column",
      place: { at: "its columns are question, answer" },
    });
  });

  test("a field that a row lacks is named with the row", async () => {
    const lines = ['{"prompt":"p","meta":{"gold":1}}', '{"prompt":"p","meta":{}}'];
    const folder = tempFolder({ "a.jsonl": lines.join("\n") });
    const error = await rejectionOf(
      readDataFile(join(folder, "a.jsonl"), { groundTruthKey: "meta.gold" }),
    );
    expect(error.message).toBe("row 2, meta.gold is empty");
  });

  test("text parts of a message are its text, and veRL gets them as one", async () => {
    const parts = [
      { type: "text", text: "1 + " },
      { type: "text", text: "1?" },
    ];
    const row = { prompt: [{ role: "user", content: parts }], ground_truth: "2" };
    const { rows } = await readText("a.jsonl", JSON.stringify(row));
    expect(rows[0]?.prompt).toEqual([user("1 + 1?")]);
    const parquet = await parquetOf(
      "SELECT [{'role': 'user', 'content': [{'type': 'text', 'text': '1 + 1?'}]}] prompt, {'ground_truth': '2'} reward_model",
    );
    const read = await readDataFile(parquet);
    expect(read.rows[0]?.prompt).toEqual([user("1 + 1?")]);
    expect(read.nested).toBe(false);
  });

  test("64-bit integers are numbers", async () => {
    const file = await parquetOf("SELECT 'p' prompt, {'ground_truth': 7::BIGINT} reward_model");
    expect((await readDataFile(file)).rows[0]?.groundTruth).toBe(7);
  });
});

describe("bad data", () => {
  test("a file that isn't there", async () => {
    expect(await rejectionOf(readDataFile("/none/x.parquet"))).toMatchObject({
      code: "data-missing",
    });
  });

  test("an empty file, and a file without rows", async () => {
    expect(await rejectionOf(readText("a.parquet", ""))).toMatchObject({ code: "data-empty" });
    expect(await rejectionOf(readText("a.json", "[]"))).toMatchObject({ code: "data-empty" });
    const file = await parquetOf("SELECT 'p' prompt, 'g' ground_truth WHERE false");
    expect(await rejectionOf(readDataFile(file))).toMatchObject({ code: "data-empty" });
  });

  test("a file that isn't what its name says, or in no format we read", async () => {
    expect(await rejectionOf(readText("a.parquet", "hello, world"))).toMatchObject({
      code: "data-format",
    });
    expect(await rejectionOf(readText("a.xlsx", "x"))).toMatchObject({ code: "data-format" });
    expect(await rejectionOf(readText("a.json", "{"))).toMatchObject({ code: "data-format" });
    expect(await rejectionOf(readText("a.jsonl", "{}\n{"))).toMatchObject({ place: { line: 2 } });
  });

  test("a missing column is named, with those that are there", async () => {
    const noPrompt = await parquetOf("SELECT 1 x, {'ground_truth': 'g'} reward_model");
    const error = await rejectionOf(readDataFile(noPrompt));
    expect(error).toBeInstanceOf(DataError);
    expect(error.message).toContain("has no column prompt");
    expect(error).toMatchObject({ place: { at: "its columns are x, reward_model" } });
    const noTruth = await parquetOf("SELECT 'p' prompt");
    expect((await rejectionOf(readDataFile(noTruth))).message).toContain(
      "has no column reward_model.ground_truth",
    );
  });

  test("a reward_model without ground_truth is named by row and column", async () => {
    const file = await parquetOf("SELECT 'p' prompt, {'style': 'rule'} reward_model");
    expect((await rejectionOf(readDataFile(file))).message).toBe(
      "row 1, reward_model.ground_truth is empty",
    );
  });

  test.each([
    ['{"prompt":"","ground_truth":"1"}', "row 2, prompt is empty"],
    ['{"prompt":[],"ground_truth":"1"}', "row 2, prompt is an empty list of messages"],
    ['{"prompt":5,"ground_truth":"1"}', "row 2, prompt is number; it takes a text or a list"],
    ['{"prompt":"x","ground_truth":null}', "row 2, ground_truth is empty"],
    [
      '{"prompt":[{"role":"bot","content":"x"}],"ground_truth":"1"}',
      'row 2, prompt has the role "bot"',
    ],
    ['{"prompt":[{"role":"user","content":1}],"ground_truth":"1"}', "content is not a text"],
    [
      '{"prompt":[{"role":"user","content":[{"type":"image"}]}],"ground_truth":"1"}',
      'row 2, prompt has a message with a part of the type "image"; genenv trains on text only',
    ],
    [
      '{"prompt":[{"role":"user","content":[]}],"ground_truth":"1"}',
      "row 2, prompt has a message with an empty list of parts",
    ],
    ['{"prompt":"x","ground_truth":"1","images":["a.png"]}', "row 2, images holds images"],
    ["[1]", "row 2, all is not an object"],
    ["7", "row 2, all is not an object"],
  ])("one bad row among good ones: %s", async (bad, message) => {
    const good = '{"prompt":"x","ground_truth":"1"}';
    const error = await rejectionOf(readText("a.jsonl", [good, bad, good].join("\n")));
    expect(error.message).toContain(message);
  });

  test("many bad rows show the first three and a count", async () => {
    const lines = Array.from({ length: 5 }, () => '{"prompt":"x","ground_truth":null}');
    const error = await rejectionOf(readText("a.jsonl", lines.join("\n")));
    expect(error.message).toMatch(/^row 1, .*row 3, .* \(and 2 more rows\)$/);
  });
});
