import { ConfigError } from "../../bridge/errors.js";
import type { Message } from "../../bridge/hooks/types.js";
import { type FileReport, type Leak, newInspector, promptKey, toTokenReport } from "./inspect.js";
import { columnTypes } from "./raw.js";
import { streamDataFile } from "./read.js";
import { type ColumnNames, isProblem } from "./row.js";
import type { TokenCounter } from "./token-counter.js";
import type { TruthCheck } from "./truth-check.js";

export interface DataReport {
  files: FileReport[];
  leaks: Leak[];
  /** For each row of all files in order: the number of its prompt; null where the row can't be used. */
  groups: (number | null)[];
}

export interface InspectOptions extends ColumnNames {
  truths: TruthCheck | null;
  tokens: TokenCounter | null;
  maxPromptTokens: number | null;
}

const batchRows = 256;

/** Reads every row of the files once and says what is in them. */
export async function inspectFiles(
  files: readonly string[],
  options: InspectOptions,
): Promise<DataReport> {
  if (new Set(files).size < files.length) {
    throw new ConfigError("a file is named twice", {
      code: "bad-value",
      hint: "name each data file once",
    });
  }
  const inspector = newInspector(options.truths);
  const groups: (number | null)[] = [];
  const numbers = new Map<string, number>();
  const lengths = new Map<string, number[]>();
  for (const file of files) {
    const start = groups.length;
    const counting = newCounting(options.tokens);
    for await (const row of streamDataFile(file, options)) {
      const problem = inspector.add(file, row);
      const usable = !isProblem(row) && problem === null;
      groups.push(usable ? numberOf(promptKey(row.prompt), numbers) : null);
      await counting.add(isProblem(row) ? [] : row.prompt);
    }
    const counted = await counting.end();
    lengths.set(file, counted);
    counted.forEach((tokens, index) => {
      if (tokens > (options.maxPromptTokens ?? Infinity)) groups[start + index] = null;
    });
  }
  const reports: FileReport[] = [];
  for (const report of inspector.files()) {
    const counted = lengths.get(report.file) ?? [];
    const tokens = options.tokens ? toTokenReport(counted, options.maxPromptTokens) : null;
    reports.push({ ...report, columns: await columnTypes(report.file), tokens });
  }
  return { files: reports, leaks: inspector.leaks(), groups };
}

function numberOf(key: string, numbers: Map<string, number>): number {
  const number = numbers.get(key) ?? numbers.size;
  numbers.set(key, number);
  return number;
}

interface Counting {
  /** An empty prompt has no tokens: it stands for a row that can't be read. */
  add(prompt: Message[]): Promise<void>;
  end(): Promise<number[]>;
}

/** Counts in batches, so that rows need not lie in memory. */
function newCounting(counter: TokenCounter | null): Counting {
  const lengths: number[] = [];
  let waiting: Message[][] = [];
  const flush = async (): Promise<void> => {
    const counted = (await counter?.count(waiting.filter((prompt) => prompt.length > 0))) ?? [];
    let next = 0;
    for (const prompt of waiting) lengths.push(prompt.length > 0 ? (counted[next++] ?? 0) : 0);
    waiting = [];
  };
  return {
    async add(prompt) {
      if (!counter) return;
      waiting.push(prompt);
      if (waiting.length >= batchRows) await flush();
    },
    async end() {
      if (counter && waiting.length > 0) await flush();
      return lengths;
    },
  };
}
