import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const root = join(import.meta.dirname, "..", "..");

/** A fenced block of a page: its language, its text, and the line it begins on. */
export interface CodeBlock {
  page: string;
  line: number;
  language: string;
  text: string;
}

/** The pages a reader starts from: README, CONTRIBUTING and CHANGELOG, everything in docs/, and the examples'. */
export function pages(): string[] {
  const below = (folder: string): string[] =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".md"))
      .map((file) => join(folder, file));
  const top = readdirSync(root).filter((file) => file.endsWith(".md"));
  return [...top, ...below("docs"), ...below("examples")].sort();
}

export const readPage = (page: string): string => readFileSync(join(root, page), "utf8");

/** The fenced blocks in any of these languages, of all pages. */
export function codeBlocks(languages: readonly string[]): CodeBlock[] {
  return pages().flatMap((page) =>
    [...readPage(page).matchAll(/^```([\w-]+)\n([\s\S]*?)^```$/gm)].flatMap((match) => {
      const [all, language = "", text = ""] = match;
      const line = readPage(page).slice(0, match.index).split("\n").length;
      return all && languages.includes(language) ? [{ page, line, language, text }] : [];
    }),
  );
}
