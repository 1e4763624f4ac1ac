import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { writeFileAtomic } from "../../bridge/whole-file.js";

/**
 * What a check of types asked of the disk, and what it was told: a file's content by its hash, whether a file or a folder
 * is there, the names in a folder. While all of it is as it was, so is the outcome.
 */
export type Asked = Map<string, string>;

const kinds = {
  content: (path: string) => createHash("sha256").update(readFileSync(path)).digest("base64"),
  file: (path: string) => String(statSync(path).isFile()),
  folder: (path: string) => String(statSync(path).isDirectory()),
  names: (path: string) => readdirSync(path).sort().join("/"),
} as const;
type Kind = keyof typeof kinds;

/** Notes a question with today's answer; "" stands for one that can't be had. */
export function ask(asked: Asked, kind: Kind, path: string): void {
  const question = `${kind} ${path}`;
  if (!asked.has(question)) asked.set(question, answer(question));
}

function answer(question: string): string {
  const [kind, path] = [
    question.split(" ", 1)[0] as Kind,
    question.slice(question.indexOf(" ") + 1),
  ];
  try {
    return kinds[kind](path);
  } catch {
    // Not there: an answer as good as another.
    return "";
  }
}

const memory = z.object({ key: z.string(), asked: z.array(z.tuple([z.string(), z.string()])) });

/** Whether the last check in this project was of the same, `key`, found no error, and nothing it saw has changed. */
export function isKnownGood(projectDir: string, key: string): boolean {
  try {
    const known = memory.parse(JSON.parse(readFileSync(memoryFile(projectDir), "utf8")));
    return known.key === key && known.asked.every(([question, told]) => answer(question) === told);
  } catch {
    // None yet, or another version's: the check is made.
    return false;
  }
}

export function rememberGood(projectDir: string, key: string, asked: Asked): void {
  writeFileAtomic(memoryFile(projectDir), JSON.stringify({ key, asked: [...asked] }));
}

const memoryFile = (projectDir: string): string => join(projectDir, ".genenv", "types.json");
