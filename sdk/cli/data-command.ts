import { resolve } from "node:path";
import { ConfigError } from "../../bridge/errors.js";
import { convertFiles } from "../data/convert.js";
import { inspectFiles } from "../data/report.js";
import { openTokenCounter, type TokenCounter } from "../data/token-counter.js";
import { loadTruthCheck } from "../data/truth-check.js";
import { type RunParts, realParts } from "../run/parts.js";
import { type ColumnArguments, toColumnNames } from "./column-options.js";
import { formatDataReport, hasProblems } from "./data-text.js";
import { exitCode } from "./exit.js";
import type { Output } from "./progress.js";

/** What `genenv data` takes, as commander gives it. */
export interface DataArguments extends ColumnArguments {
  reward?: string;
  model?: string;
  maxPromptLength?: string;
  out?: string;
  split?: string;
  sample?: string;
  seed?: string;
  drop?: boolean;
  force?: boolean;
  json?: boolean;
  debug?: boolean;
}

/** `genenv data`: says what data files hold and what is wrong with them, and converts them. */
export async function dataCommand(
  given: readonly string[],
  options: DataArguments,
  streams: { output: Output; parts?: RunParts; cwd?: string },
): Promise<number> {
  const { output, parts = realParts, cwd = process.cwd() } = streams;
  const say = (line: string): void => {
    if (!options.json) output.write(`${line}\n`);
  };
  const numbers = readNumbers(options);
  const files = given.map((file) => resolve(cwd, file));
  const truths = options.reward ? await loadTruthCheck(options.reward, cwd) : null;
  const tokens = await openTokens(options, { parts, cwd, onProgress: (line) => say(`  ${line}`) });
  try {
    const names = toColumnNames(options);
    const { maxPromptTokens } = numbers;
    const report = await inspectFiles(files, { ...names, truths, tokens, maxPromptTokens });
    for (const line of formatDataReport(report)) say(line);
    if (!truths) say("ground truths not checked: name the reward with --reward");
    if (!tokens) say("prompt tokens not counted: name the model with --model");
    const written =
      options.out === undefined
        ? []
        : await convertFiles(files, report.groups, {
            ...names,
            ...numbers,
            out: resolve(cwd, options.out),
            drop: options.drop ?? false,
            force: options.force ?? false,
          });
    for (const { file, rows } of written) say(`wrote ${file}: ${rows.toLocaleString("en")} rows`);
    if (options.json) {
      const { files: reports, leaks } = report;
      output.write(`${JSON.stringify({ type: "data", files: reports, leaks, written })}\n`);
    }
    return hasProblems(report) && written.length === 0 ? exitCode.usage : exitCode.done;
  } finally {
    await tokens?.close();
  }
}

async function openTokens(
  { model }: DataArguments,
  options: { parts: RunParts; cwd: string; onProgress(line: string): void },
): Promise<TokenCounter | null> {
  return model === undefined ? null : openTokenCounter(model, options);
}

interface Numbers {
  maxPromptTokens: number | null;
  split: number | null;
  sample: number | null;
  seed: number;
}

function readNumbers(options: DataArguments): Numbers {
  const { out, split, sample } = options;
  if (out === undefined && (split ?? sample) !== undefined) {
    throw new ConfigError("--split and --sample say what is written, and there is no --out", {
      code: "bad-value",
      hint: "add --out FILE.parquet, or with --split --out FOLDER",
    });
  }
  if (split !== undefined && out?.endsWith(".parquet")) {
    throw new ConfigError(`--split writes two files, and --out ${out} is one`, {
      code: "bad-value",
      hint: "give a folder: train.parquet and val.parquet are written into it",
    });
  }
  return {
    maxPromptTokens: wholeNumber("--max-prompt-length", options.maxPromptLength),
    sample: wholeNumber("--sample", sample),
    seed: wholeNumber("--seed", options.seed) ?? 0,
    split: share(split),
  };
}

function wholeNumber(flag: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new ConfigError(`${flag} is ${JSON.stringify(text)}; it takes a whole number`, {
    code: "bad-value",
    place: { at: flag },
  });
}

function share(text: string | undefined): number | null {
  if (text === undefined) return null;
  const value = Number(text);
  if (text.trim() !== "" && value > 0 && value < 1) return value;
  throw new ConfigError(`--split is ${JSON.stringify(text)}; it takes a share such as 0.9`, {
    code: "bad-value",
    place: { at: "--split" },
    hint: "the share of the rows that train; the others validate",
  });
}
