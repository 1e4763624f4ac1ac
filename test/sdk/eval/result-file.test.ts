import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openResultFile } from "../../../sdk/eval/result-file.js";
import type { EvaluatedProblem } from "../../../sdk/eval/types.js";
import { tempFolder } from "../temp.js";

const identity = { model: "/m", data: "abc", n: 2 };
const problem = (row: number): EvaluatedProblem => ({
  row,
  dataSource: null,
  samples: [
    {
      text: "seven\n",
      finishReason: "stop",
      responseTokens: 2,
      result: { kind: "score", value: 1, success: null, metrics: { a: 0.5 } },
    },
    {
      text: "",
      finishReason: "length",
      responseTokens: 8,
      result: { kind: "failed", code: "timeout", reason: "late" },
    },
  ],
});

describe("a result file", () => {
  test("gives back what was appended to it", () => {
    const file = join(tempFolder(), "new", "results.jsonl");
    expect(openResultFile(file, identity).done).toEqual([]);
    openResultFile(file, identity).append([problem(2), problem(1)]);
    expect(openResultFile(file, identity).done).toEqual([problem(2), problem(1)]);
  });

  test("loses no more than the line that a crash cut short", () => {
    const file = join(tempFolder(), "results.jsonl");
    openResultFile(file, identity).append([problem(1)]);
    const whole = readFileSync(file, "utf8");
    appendFileSync(file, JSON.stringify({ type: "problem", row: 2, text: "é" }).slice(0, 30));
    const again = openResultFile(file, identity);
    expect(again.done).toEqual([problem(1)]);
    expect(readFileSync(file, "utf8")).toBe(whole);
    again.append([problem(2)]);
    expect(openResultFile(file, identity).done).toEqual([problem(1), problem(2)]);
  });

  test("begins again where a crash cut its first line short", () => {
    const file = join(tempFolder(), "results.jsonl");
    writeFileSync(file, '{"type":"eval","vers');
    expect(openResultFile(file, identity).done).toEqual([]);
    expect(openResultFile(file, identity).done).toEqual([]);
  });

  test("of another evaluation is refused, with what differs", () => {
    const file = join(tempFolder(), "results.jsonl");
    openResultFile(file, identity);
    expect(() => openResultFile(file, { ...identity, n: 4, data: "xyz" })).toThrowError(
      'the results there are of another evaluation: data "abc", now "xyz"; n 2, now 4',
    );
  });

  test("that isn't one is refused and left as it is", () => {
    for (const text of ["notes\n", "notes", '{"type":"eval","version":2,"identity":{}}\n']) {
      const file = join(tempFolder(), "notes.txt");
      writeFileSync(file, text);
      expect(() => openResultFile(file, identity)).toThrowError("no result of an evaluation");
      expect(readFileSync(file, "utf8")).toBe(text);
    }
  });
});
