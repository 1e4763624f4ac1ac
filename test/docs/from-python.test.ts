import { describe, expect, test } from "vitest";
import { allKeys, verlKeyKind } from "../../sdk/config/keys.js";
import { refusedKeys } from "../../sdk/config/verl-rules.js";
import { readPage } from "./pages.js";

const page = readPage("docs/from-python-genenv.md");

function part(name: string): string {
  const found = new RegExp(`<!-- keys:${name} -->([\\s\\S]*?)<!-- /keys:${name} -->`).exec(page);
  if (!found?.[1]) throw new Error(`the page has no part ${name}`);
  return found[1];
}

const codeIn = (text: string): string[] =>
  [...text.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
const isKnown = (key: string): boolean =>
  allKeys().includes(key) || verlKeyKind(key.split(".")).kind !== "unknown";
const isAlwaysRefused = (key: string): boolean =>
  refusedKeys.some((rule) => rule.key === key && !rule.refuses && rule.role !== "environment");

describe("the page from the Python GenEnv", () => {
  const same = codeIn(part("same"));
  const rows = part("changed")
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) => line.split(" | "));

  test.each(same)("%s is still a key, and one that has an effect", (key) => {
    expect(isKnown(key)).toBe(true);
    expect(isAlwaysRefused(key)).toBe(false);
  });

  test("what takes a changed key's place is a key", () => {
    const ours = rows.flatMap(([, here = ""]) => codeIn(here)).filter((key) => key.includes("."));
    expect(ours.length).toBeGreaterThan(8);
    expect(ours.filter((key) => !isKnown(key))).toEqual([]);
  });

  test("a key to leave out is one that genenv refuses or veRL lacks", () => {
    const left = rows
      .filter(([, here = ""]) => here.startsWith("leave"))
      .flatMap(([there = ""]) => codeIn(there))
      .map((key) => key.replace(/\.\*$/, ""));
    expect(left.filter((key) => isKnown(key) && !isAlwaysRefused(key))).toEqual([]);
  });

  test("no key stands in both lists", () => {
    const changed = rows.flatMap(([there = ""]) => codeIn(there));
    expect(changed.filter((key) => same.includes(key))).toEqual([]);
  });
});
