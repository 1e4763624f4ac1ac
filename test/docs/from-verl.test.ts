import { expect, test } from "vitest";
import { allKeys, verlKeyKind } from "../../sdk/config/keys.js";
import { refusedKeys } from "../../sdk/config/verl-rules.js";
import { readPage } from "./pages.js";

const page = readPage("docs/from-verl.md");
const table = /<!-- groups -->([\s\S]*?)<!-- \/groups -->/.exec(page)?.[1] ?? "";
const codeIn = (text: string): string[] =>
  [...text.matchAll(/`([\w.]+)`/g)].map(([, code = ""]) => code);
const rows = table
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .map((line) => line.split(" | "));
const groups = rows.flatMap(([group = ""]) => codeIn(group));

/** veRL's top-level keys, and its sections down to the second level (the third below actor_rollout_ref). */
const wanted = allKeys().filter((key) => {
  const path = key.split(".");
  const deepest = key.startsWith("actor_rollout_ref.") ? 3 : 2;
  if (path.length === 1) return true;
  if (path[0] === "genenv") return false;
  return path.length <= deepest && verlKeyKind(path).kind === "section";
});

test("every group of veRL's keys has its row, once", () => {
  expect(wanted.length).toBeGreaterThan(50);
  expect([...groups].sort()).toEqual([...new Set([...wanted, "genenv", "genenv.env"])].sort());
});

test("a group that is called refused is refused whole, and no other", () => {
  const isRefused = (key: string): boolean =>
    refusedKeys.some(
      (rule) =>
        !rule.refuses &&
        rule.role === undefined &&
        (key === rule.key || key.startsWith(`${rule.key}.`)),
    );
  const called = rows
    .filter(([, here = ""]) => here.startsWith("refused"))
    .flatMap(([group = ""]) => codeIn(group));
  expect(called.sort()).toEqual(groups.filter(isRefused).sort());
});

test("every key that the page names is one", () => {
  const codes = codeIn(page).map((code) => code.replace(/^genenv\.env\.(?=\w+\.)/, ""));
  const named = codes.filter((code) =>
    /^(data|actor_rollout_ref|algorithm|trainer|reward|genenv)\./.test(code),
  );
  const unknown = named.filter(
    (key) => !allKeys().includes(key) && verlKeyKind(key.split(".")).kind === "unknown",
  );
  expect(unknown).toEqual([]);
});
