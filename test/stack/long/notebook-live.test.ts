/** "A run, live", executed by Jupyter: real training with hooks from cells, and a cell that is interrupted. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadRun } from "../../../sdk/load-run.js";
import { execute, type NotebookProject, notebookProject, rowsOf } from "../notebooks.js";

const runIn = (folder: string): string => {
  const [name = "none"] = readdirSync(join(folder, "runs"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);
  return join(folder, "runs", name);
};

describe("the notebook of a live run", () => {
  let project: NotebookProject;
  let outputs: string[][];

  beforeAll(async () => {
    project = await notebookProject();
    outputs = await execute(project, "run-live.ipynb");
  }, 900_000);
  afterAll(() => project?.remove());

  it("trains with the cells' own hooks, in one display that ends with the result", async () => {
    const [panel = "", result = ""] = outputs[3] ?? [];
    expect(outputs[3]).toHaveLength(2);
    expect(panel).toMatch(/^<p><strong>done after 3 epochs: /);
    expect(panel).toContain("<svg");
    expect(rowsOf(result)).toEqual([["3", "3", "false"]]);
    const { tasks, metrics } = await loadRun(runIn(project.folder));
    expect(
      tasks.some((task) => task.source === "environment" && /^Say \d+$/.test(task.prompt ?? "")),
    ).toBe(true);
    expect(metrics.filter(({ phase }) => phase === "agent")).toHaveLength(3);
  });

  it("plots curves and success rates, and shows tasks", () => {
    expect(outputs[4]?.[0]).toMatch(/●<\/span> agent reward.*●<\/span> environment reward/);
    const [histogram = "", tasks = ""] = outputs[5] ?? [];
    expect(histogram).toContain("<svg");
    expect(rowsOf(tasks)).toHaveLength(10);
  });

  it("generates, tokenizes and evaluates with a warm engine", () => {
    const [answers = "", tokens = ""] = outputs[6] ?? [];
    expect(
      rowsOf(answers)
        .map(([prompt]) => prompt)
        .sort(),
    ).toEqual(["0", "0", "1", "1"]);
    expect(Number(rowsOf(tokens)[0]?.[1])).toBeGreaterThan(5);
    const [report = ""] = outputs[7] ?? [];
    expect(rowsOf(report)[0]?.slice(0, 2)).toEqual(["16", "32"]);
  });
});

describe("an interrupted cell", () => {
  it("stops the run with everything saved, and leaves the kernel usable", {
    timeout: 900_000,
  }, async () => {
    const project = await notebookProject();
    try {
      const script = join(import.meta.dirname, "interrupt_cell.py");
      const { drawn, last, printed } = JSON.parse(await project.python([script, "run-live.ipynb"]));
      expect(drawn).toBeGreaterThan(10);
      expect(last).toMatch(/^<p><strong>stopped after \d epochs?: /);
      expect(printed.join("")).toContain("Interrupted");
      expect(printed.at(-1)).toContain("true");
      const dir = runIn(project.folder);
      expect(readdirSync(dir)).toEqual(
        expect.arrayContaining(["checkpoints", "report.html", "metrics.jsonl"]),
      );
    } finally {
      project.remove();
    }
  });
});
