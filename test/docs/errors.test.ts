import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readPage, root } from "./pages.js";

function sources(folder: string, ending: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(ending))
    .map((file) => readFileSync(join(root, folder, file), "utf8"));
}

const ours = [...sources("sdk", ".ts"), ...sources("bridge", ".ts")];
const python = sources("py/genenv", ".py");

/** Codes that an error is made with, where the code is a plain text. */
function codesMade(): Set<string> {
  const found = [
    ...ours.flatMap((text) => [...text.matchAll(/\bcode: "([a-z-]+)"/g)]),
    ...python.flatMap((text) => [...text.matchAll(/\bcode="([a-z-]+)"/g)]),
  ];
  return new Set(found.map(([, code = ""]) => code));
}

/** The codes in the first column of the page's tables, and those among its defects. */
function codesListed(): string[] {
  const page = readPage("docs/errors.md");
  const cells = page.split("\n").map((line) => /^\| (`.*?) \|/.exec(line)?.[1] ?? "");
  const defects = page.slice(page.indexOf("## Defects"));
  return [...cells, defects].flatMap(codesIn);
}

const codesIn = (text: string): string[] =>
  [...text.matchAll(/`([a-z-]+)`/g)].map(([, code = ""]) => code);

describe("the page of errors", () => {
  const listed = codesListed();

  test("has every code that is made", () => {
    expect([...codesMade()].filter((code) => !listed.includes(code))).toEqual([]);
  });

  test("has no code that the sources don't know", () => {
    const known = [...ours, ...python].join("\n");
    expect(listed.filter((code) => !known.includes(`"${code}"`))).toEqual([]);
  });

  test("has no code without a test that names it", () => {
    const pages = readPage("docs/errors.md");
    const before = codesListed().slice(
      0,
      -codesIn(pages.slice(pages.indexOf("## Defects"))).length,
    );
    const tests = [...sources("test", ".ts"), ...sources("test", ".py")].join("\n");
    expect(before.length).toBeGreaterThan(60);
    const untested = before.filter(
      (code) => !new RegExp(`(?<![\\w-])${code}(?![\\w-])`).test(tests),
    );
    expect(untested).toEqual([]);
  });

  test("has no code twice", () => {
    expect(listed.filter((code, index) => listed.indexOf(code) !== index)).toEqual([]);
  });
});
