import { expect, test } from "vitest";
import { isCurriculumHook, type SelectInput } from "../../../bridge/hooks/types.js";
import { paper } from "../../../sdk/curriculum/algorithms.js";

const input = (rates: (number | null)[], more: Partial<SelectInput> = {}): SelectInput => ({
  tasks: rates.map((successRate, index) => ({
    id: `t${index}`,
    prompt: "p",
    groundTruth: "g",
    successRate,
    reward: successRate === null ? null : 0.9,
  })),
  targetSuccess: 0.5,
  filteringK: 0.3,
  filteringMode: "band",
  epoch: 1,
  ...more,
});

test("keeps the band's tasks with their reward as weight", async () => {
  expect(await paper.select(input([0.5, 1, null]))).toEqual([
    { id: "t0", keep: true, weight: 0.9, reason: "kept" },
    { id: "t1", keep: false, weight: 0, reason: "too-easy" },
    { id: "t2", keep: false, weight: 0, reason: "unscored" },
  ]);
});

test("filters by quantile where that is the mode", async () => {
  const tasks = input([0, 0.1, 0.2, 0.3], { filteringMode: "quantile", filteringK: 0.25 });
  const decisions = await paper.select(tasks);
  expect(decisions.map((decision) => decision.keep)).toEqual([false, true, true, false]);
});

test("no tasks give no decisions", async () => {
  expect(await paper.select(input([]))).toEqual([]);
});

test("is a curriculum hook", () => {
  expect(isCurriculumHook(paper)).toBe(true);
});
