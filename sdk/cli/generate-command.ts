import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { ConfigError, DataError } from "../../bridge/errors.js";
import { isDataFile, readPromptFile } from "../data/prompts.js";
import { generate } from "../generate.js";
import type { RunParts } from "../run/parts.js";
import type { Prompt } from "../session.js";
import { exitCode } from "./exit.js";
import { type ModelArguments, toSamplingInput, toSession } from "./model-options.js";
import { toSafeText } from "./progress-text.js";
import { type CommandStreams, interruptible, statusLine } from "./status-line.js";

export interface GenerateArguments extends ModelArguments {
  prompt: string[];
  in?: string;
  promptKey?: string;
  raw?: boolean;
}

/** `genenv generate`: each response as soon as it is finished. */
export async function generateCommand(
  options: GenerateArguments,
  streams: CommandStreams & { parts?: RunParts; cwd?: string },
): Promise<number> {
  const { output, parts, cwd = process.cwd() } = streams;
  const prompts = await readPrompts(options, cwd);
  return interruptible(streams, options, async (signal) => {
    const line = statusLine(streams.status);
    try {
      const samples = generate({
        ...toSession(options),
        prompts,
        n: options.n,
        sampling: toSamplingInput(options),
        raw: options.raw ?? false,
        signal,
        parts,
        cwd,
        onProgress: line.show,
      });
      for await (const sample of samples) {
        line.end();
        const prompt = textOf(prompts[sample.prompt] ?? "");
        if (options.json) output.write(`${JSON.stringify({ ...sample, promptText: prompt })}\n`);
        else output.write(`${heading(sample, prompt, options.n)}\n${toSafeText(sample.text)}\n\n`);
      }
      return exitCode.done;
    } finally {
      line.end();
    }
  });
}

/** A chat as one text: its messages, a line each. */
function textOf(prompt: Prompt): string {
  return typeof prompt === "string" ? prompt : prompt.map(({ content }) => content).join("\n");
}

function heading(at: { prompt: number; sample: number }, prompt: string, n: number): string {
  const text = toSafeText(prompt).replace(/\s+/g, " ");
  const short = text.length > 70 ? `${text.slice(0, 70)}...` : text;
  return `--- ${at.prompt + 1}${n > 1 ? `.${at.sample + 1}` : ""}: ${short}`;
}

/** The prompts of --prompt, or of --in: the rows of a data file, or the lines of a text. */
async function readPrompts(options: GenerateArguments, cwd: string): Promise<readonly Prompt[]> {
  if (options.prompt.length > 0 && options.in === undefined) return options.prompt;
  if (options.in === undefined || options.prompt.length > 0) {
    throw new ConfigError("generate takes prompts from --prompt or from --in, one of them", {
      code: "bad-value",
      hint: 'genenv generate --model MODEL --prompt "What is 3 + 4?"',
    });
  }
  const file = resolve(cwd, options.in);
  if (isDataFile(file)) return readPromptFile(file, options.promptKey);
  if (!existsSync(file)) {
    throw new DataError(`the prompt file ${file} is not there`, {
      code: "data-missing",
      place: { file },
      hint: "check the path",
    });
  }
  const lines = readFileSync(file, "utf8").split("\n");
  const prompts = lines.filter((line) => line.trim() !== "");
  if (prompts.length > 0) return prompts;
  throw new DataError(`the prompt file ${file} has no prompts`, {
    code: "data-empty",
    place: { file },
    hint: "a line of it is a prompt",
  });
}
