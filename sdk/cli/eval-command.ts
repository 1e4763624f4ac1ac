import { extname } from "node:path";
import { compareReports } from "../eval/compare.js";
import type { EvalReport } from "../eval/types.js";
import { evaluate } from "../evaluate.js";
import type { RunParts } from "../run/parts.js";
import { formatComparison, formatReport } from "./eval-text.js";
import { exitCode } from "./exit.js";
import { type ModelArguments, toSamplingInput, toSession } from "./model-options.js";
import type { Output } from "./progress.js";
import { type CommandStreams, interruptSignal, statusLine } from "./status-line.js";

export interface EvalArguments extends ModelArguments {
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
  const { output } = streams;
  const { signal, release } = interruptSignal(streams);
  try {
    const first = await evaluateOne(options, options.out, { ...streams, signal });
    if (!options.json) write(output, formatReport(first));
    let comparison = null;
    let second: EvalReport | null = null;
    if (options.compare !== undefined) {
      const other = { ...options, model: options.compare };
      second = await evaluateOne(other, comparedFile(options.out), { ...streams, signal });
      comparison = compareReports(first, second);
      if (!options.json) {
        write(output, `\n${formatReport(second)}\n\n${formatComparison(comparison)}`);
      }
    }
    if (options.json) {
      write(output, JSON.stringify(second ? { first, second, comparison } : first));
    }
    const unscored = [first, second].some((report) => report?.overall.scored === 0);
    return unscored ? exitCode.failed : exitCode.done;
  } finally {
    release();
  }
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
