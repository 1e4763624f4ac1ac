import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { math, toolCalls, webActions } from "../../../sdk/graders/index.js";

interface Case {
  id: string;
  kind: string;
  response: string;
  gold: unknown;
  expected: boolean;
  /** "possible": the answer key is the ground truth. */
  mode?: string;
  possible?: unknown;
}

function readCases(name: string): Case[] {
  const file = new URL(`../../fixtures/cases/${name}.jsonl`, import.meta.url);
  return readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Case);
}

const graders = { math, tools: toolCalls, web: webActions };

describe.each(["math", "tools", "web"] as const)("the sample cases of %s", (name) => {
  it.each(readCases(name).map((one) => [one.id, one.kind, one] as const))(
    "%s (%s) scores as expected",
    (_id, _kind, one) => {
      const groundTruth = one.mode === "possible" ? one.possible : one.gold;
      const grade = graders[name]({ response: one.response, groundTruth });
      expect(grade, grade.reason).toMatchObject({ score: one.expected ? 1 : 0 });
      expect(grade.reason).not.toBe("");
    },
  );
});
