import { extname } from "node:path";
import type { Message } from "../../bridge/hooks/types.js";
import { rawRows } from "./raw.js";
import { rowError } from "./read.js";
import { type RowProblem, toPrompt } from "./row.js";

const dataFormats = new Set([".parquet", ".jsonl", ".ndjson", ".json", ".csv"]);

/** True for a file of rows; what else there is, is text. */
export function isDataFile(file: string): boolean {
  return dataFormats.has(extname(file).toLowerCase());
}

/**
 * The prompt of each row, from the named column or from `prompt` or `question`; a row that is a text is its prompt.
 * Throws DataError where a row has none.
 */
export async function readPromptFile(
  file: string,
  promptKey: string | undefined,
): Promise<(string | Message[])[]> {
  const prompts: (string | Message[])[] = [];
  const problems: RowProblem[] = [];
  let row = 0;
  // An empty file is refused there.
  for await (const raw of rawRows(file, { texts: "prompt" })) {
    row += 1;
    const read = toPrompt(raw, promptKey);
    if (Array.isArray(read)) prompts.push(toText(read) ?? read);
    else problems.push({ row, ...read });
  }
  if (problems.length > 0) throw rowError(file, problems);
  return prompts;
}

/** The text of a chat that is one user message: the two are the same prompt, and --raw takes texts. */
function toText([first, ...rest]: Message[]): string | null {
  return rest.length === 0 && first?.role === "user" ? first.content : null;
}
