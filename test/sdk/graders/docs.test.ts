import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type BuiltinGraderName, builtinGraders, type Grade } from "../../../sdk/graders/index.js";

interface Example {
  rule: string;
  response: string;
  groundTruth: unknown;
  options: object;
  score: number;
}

const text = readFileSync(new URL("../../../docs/graders.md", import.meta.url), "utf8");

/** The examples of one grader's tables: rows of five cells under its heading. */
function readExamples(name: string): Example[] {
  const section = text.split(/^## /m).find((one) => one.startsWith(`${name}\n`)) ?? "";
  const rows = section
    .split("\n")
    .filter((line) => line.startsWith("| ") && !line.startsWith("| Rule "));
  return rows.map(readRow);
}

function readRow(row: string): Example {
  const cells = row.replaceAll("\\|", "\u0000").split("|").slice(1, -1);
  const [rule = "", response = "", gold = "", options = "", score = ""] = cells.map((cell) =>
    cell.replaceAll("\u0000", "|").trim(),
  );
  return {
    rule,
    response: code(response),
    groundTruth: jsonOr(code(gold)),
    options: options === "" ? {} : (JSON.parse(code(options)) as object),
    score: Number(score),
  };
}

/** What a code span holds, its line breaks written out; backticks in it stand in a span of four. */
function code(cell: string): string {
  return cell.replace(/^```` | ````$|^`|`$/g, "").replaceAll("⏎", "\n");
}

function jsonOr(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

describe.each(Object.keys(builtinGraders) as BuiltinGraderName[])("docs/graders.md: %s", (name) => {
  const examples = readExamples(name);

  it("has examples", () => {
    expect(examples.length).toBeGreaterThan(3);
  });

  it.each(examples.map((one) => [one.rule, one] as const))("%s", (_rule, one) => {
    const grader = builtinGraders[name] as (input: object, options: object) => Grade;
    const grade = grader({ response: one.response, groundTruth: one.groundTruth }, one.options);
    expect(grade.score, grade.reason).toBeCloseTo(one.score, 4);
  });
});
