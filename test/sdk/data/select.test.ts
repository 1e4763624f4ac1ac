import { expect, test } from "vitest";
import { chooseRows } from "../../../sdk/data/select.js";

const every = { sample: null, split: null, seed: 0 };
const rows = Array.from({ length: 100 }, (_, index) => index);
const count = (sides: readonly unknown[], side: string): number =>
  sides.filter((each) => each === side).length;

test("takes every row for training where nothing is asked", () => {
  expect(chooseRows([0, 1, 2], every)).toEqual(["train", "train", "train"]);
  expect(chooseRows([], every)).toEqual([]);
});

test("a sample has as many rows, and is the same for the same seed alone", () => {
  const sample = (seed: number): string =>
    JSON.stringify(chooseRows(rows, { ...every, sample: 10, seed }));
  expect(count(JSON.parse(sample(1)), "train")).toBe(10);
  expect(sample(1)).toBe(sample(1));
  expect(sample(1)).not.toBe(sample(2));
});

test("a sample larger than the data is all of it", () => {
  expect(count(chooseRows([0, 1], { ...every, sample: 9 }), "train")).toBe(2);
});

test("a split of a sample divides what is taken", () => {
  const sides = chooseRows(rows, { sample: 50, split: 0.8, seed: 3 });
  expect([count(sides, "train"), count(sides, "val")]).toEqual([40, 10]);
});

test("rows of one prompt go to one side, whatever the seed", () => {
  const groups = [0, 1, 0, 2, 1, 0, 3, 4];
  for (let seed = 0; seed < 50; seed++) {
    const sides = chooseRows(groups, { sample: null, split: 0.5, seed });
    expect(new Set([sides[0], sides[2], sides[5]]).size).toBe(1);
    expect(sides[1]).toBe(sides[4]);
    expect(sides).not.toContain(null);
  }
});
