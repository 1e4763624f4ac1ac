import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { pages, readPage, root } from "./pages.js";

/** Links of a page to files of the project, without their #anchor. */
function localLinks(page: string): string[] {
  const withoutCode = readPage(page).replaceAll(/^```[\s\S]*?^```$/gm, "");
  return [...withoutCode.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = ""]) => target.split("#")[0] ?? "")
    .filter((target) => target !== "" && !/^[a-z]+:/.test(target));
}

test.each(pages())("every link of %s leads somewhere", (page) => {
  const lost = localLinks(page).filter((link) => !existsSync(join(root, dirname(page), link)));
  expect(lost).toEqual([]);
});

test.each(pages())("%s names no machine of ours", (page) => {
  const lines = readPage(page).split("\n");
  expect(lines.filter((line) => /\/(work|root|opt|tmp)\//.test(line))).toEqual([]);
});
