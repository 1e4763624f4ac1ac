/** "Your first reward", executed by Jupyter with the TypeScript kernel that `genenv notebook` sets up. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { execute, type NotebookProject, notebookProject, rowsOf } from "./notebooks.js";

describe("the notebook of a first reward", () => {
  let project: NotebookProject;
  let outputs: string[][];

  beforeAll(async () => {
    project = await notebookProject();
    outputs = await execute(project, "first-reward.ipynb");
  }, 600_000);
  afterAll(() => project?.remove());

  it("shows recorded responses as a table", () => {
    const [html = ""] = outputs[0] ?? [];
    expect(rowsOf(html)).toHaveLength(6);
    expect(rowsOf(html)[0]?.[0]).toBe("What is 3 + 4?");
    expect(html).toContain("and 42 more rows");
  });

  it("shows each reward's histogram, and how many responses have no score", () => {
    const [anywhere = ""] = outputs[1] ?? [];
    const [lastNumber = ""] = outputs[3] ?? [];
    for (const html of [anywhere, lastNumber]) expect(html).toContain("<svg");
    expect(anywhere).not.toContain("without a value");
    expect(lastNumber).toMatch(/[1-9]\d* without a value/);
  });

  it("shows what the first reward is wrong about: a right number on the way", () => {
    const [html = ""] = outputs[2] ?? [];
    for (const [groundTruth = "?", response = ""] of rowsOf(html)) {
      expect(response).toContain(groundTruth);
    }
    const wrong = rowsOf(html).filter(
      ([groundTruth, response = ""]) => response.match(/\d+/g)?.at(-1) !== groundTruth,
    );
    expect(wrong.length).toBeGreaterThan(0);
  });

  it("gives each task's success rate among its scored responses", () => {
    const [html = "", histogram = ""] = outputs[4] ?? [];
    expect(rowsOf(html)).toHaveLength(12);
    for (const [, scored, rate] of rowsOf(html)) {
      if (scored === "0") expect(rate).toBe("–");
      else
        expect(
          Math.abs(Number(rate) * Number(scored) - Math.round(Number(rate) * Number(scored))),
        ).toBeLessThan(0.01);
    }
    expect(histogram).toContain("<svg");
  });

  it("prints nothing beside: no warning, no error", () => {
    expect(outputs.map((cell) => cell.length)).toEqual([1, 1, 1, 1, 2]);
  });
});
