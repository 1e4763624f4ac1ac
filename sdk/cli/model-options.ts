import { type Command, InvalidArgumentError, Option } from "commander";
import type { SamplingInput, SessionConfig } from "../session/settings.js";

/** What `eval` and `generate` say of the model and how it is sampled. */
export interface ModelArguments {
  model: string;
  n: number;
  temperature?: number;
  topP?: number;
  maxTokens?: number;
  seed?: number;
  device: "auto" | "cpu" | "cuda";
  maxModelTokens?: number;
  debug?: boolean;
  json?: boolean;
}

export function withModelOptions(command: Command, n: number): Command {
  return command
    .requiredOption(
      "--model <model>",
      "a folder, a hub id, builtin:NAME or a run (runs/NAME: its last checkpoint's agent)",
    )
    .option("--n <count>", "samples of each prompt", toCount, n)
    .option("--temperature <t>", "0 takes the likeliest token each time (default: 1)", toNumber)
    .option("--top-p <p>", "(default: 1)", toNumber)
    .option("--max-tokens <tokens>", "tokens of a response (default: 512)", toCount)
    .option("--seed <seed>", "equal seeds give equal samples", toSeed)
    .option(
      "--max-model-tokens <tokens>",
      "prompt and response together (default: the model's)",
      toCount,
    )
    .addOption(
      new Option("--device <device>", "where the model runs")
        .choices(["auto", "cpu", "cuda"])
        .default("auto"),
    )
    .option("--json", "JSON, for programs")
    .option("--debug", "show the stack of an error");
}

export function toSession({
  model,
  device,
  maxModelTokens,
}: ModelArguments): Pick<SessionConfig, "model" | "device" | "maxModelTokens"> {
  return { model, device, ...(maxModelTokens !== undefined && { maxModelTokens }) };
}

export function toSamplingInput(options: ModelArguments): SamplingInput {
  const { temperature, topP, maxTokens, seed } = options;
  return {
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(seed !== undefined && { seed }),
  };
}

function toNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value))
    throw new InvalidArgumentError("it is no number");
  return value;
}

/** A whole number from 1, of an option. */
export function toCount(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new InvalidArgumentError("it takes a whole number from 1");
  return Number(text);
}

function toSeed(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("it takes a whole number from 0");
  return Number(text);
}
