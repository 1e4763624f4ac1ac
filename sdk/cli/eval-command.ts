import { extname } from "node:path";
import { compareReports } from "../eval/compare.js";
import type { EvalReport } from "../eval/types.js";
import { evaluate } from "../evaluate.js";
import type { RunParts } from "../run/parts.js";
import { type ColumnArguments, toColumnNames } from "./column-options.js";
import { formatComparison, formatReport } from "./eval-text.js";
import { exitCode } from "./exit.js";
import { type ModelArguments, toSamplingInput, toSession } from "./model-options.js";
import type { Output } from "./progress.js";
import { type CommandStreams, interruptible, statusLine } from "./status-line.js";

export interface EvalArguments extends ModelArguments, ColumnArguments {
  data: string;
  reward: string;
  out?: string;
  compare?: string;
}

/** `genenv eval`: one model's figures, or two models' and whether they differ. */
export async function evalCommand(
  options: EvalArguments,
  streams: CommandStreams & { parts?: RunParts; cwd?: string },
): Promise<number> {
  return interruptible(streams, options, async (signal) => {
    const { output } = streams;
    const first = await evaluateOne(options, options.out, { ...streams, signal });
    if (options.compare === undefined) {
      write(output, options.json ? JSON.stringify(first) : formatReport(first));
      return codeOf([first]);
    }
    if (!options.json) write(output, `${formatReport(first)}\n`);
    const other = { ...options, model: options.compare };
    const second = await evaluateOne(other, comparedFile(options.out), { ...streams, signal });
    const comparison = compareReports(first, second);
    const text = `${formatReport(second)}\n\n${formatComparison(comparison)}`;
    write(output, options.json ? JSON.stringify({ first, second, comparison }) : text);
    return codeOf([first, second]);
  });
}

/** An evaluation in which nothing could be scored has failed. */
function codeOf(reports: readonly EvalReport[]): number {
  return reports.some(({ overall }) => overall.scored === 0) ? exitCode.failed : exitCode.done;
}

async function evaluateOne(
  options: EvalArguments,
  out: string | undefined,
  streams: CommandStreams & { parts?: RunParts; cwd?: string; signal: AbortSignal },
): Promise<EvalReport> {
  const line = statusLine(streams.status);
  const { signal, parts, cwd } = streams;
  try {
    return await evaluate({
      ...toSession(options),
      data: options.data,
      columns: toColumnNames(options),
      reward: options.reward,
      n: options.n,
      sampling: toSamplingInput(options),
      out,
      signal,
      parts,
      cwd,
      onDetail: line.show,
      onProgress: ({ done, total, samples }) =>
        line.show(`${options.model}: ${done} of ${total} problems, ${samples} samples`),
    });
  } finally {
    line.end();
  }
}

/** Beside results.jsonl the other model's results-compare.jsonl. */
function comparedFile(out: string | undefined): string | undefined {
  if (out === undefined) return undefined;
  const ending = extname(out);
  return `${out.slice(0, out.length - ending.length)}-compare${ending}`;
}

const write = (output: Output, text: string): void => {
  output.write(`${text}\n`);
};
