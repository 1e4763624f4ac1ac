import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

const configSchema = z.object({ model_type: z.string() });
const indexSchema = z.object({ weight_map: z.record(z.string(), z.string()) });

const weightFiles = ["model.safetensors", "pytorch_model.bin"];
const tokenizerFiles = ["tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt"];

/** What keeps `folder` from being a model that transformers loads, in words; null where nothing does. Reads no weights. */
export function lookAtModel(folder: string): string | null {
  return lookAtConfig(folder) ?? lookAtWeights(folder) ?? lookAtTokenizer(folder);
}

function lookAtConfig(folder: string): string | null {
  const file = join(folder, "config.json");
  if (!existsSync(file)) return "it has no config.json";
  const config = configSchema.safeParse(readJson(file));
  return config.success
    ? null
    : 'its config.json is not a model\'s (there is no "model_type" in it)';
}

function lookAtWeights(folder: string): string | null {
  if (weightFiles.some((name) => existsSync(join(folder, name)))) return null;
  const index = weightFiles
    .map((name) => join(folder, `${name}.index.json`))
    .find((name) => existsSync(name));
  if (!index) return `it has no weights (${weightFiles.join(" or ")})`;
  const parsed = indexSchema.safeParse(readJson(index));
  if (!parsed.success) return `${index} is damaged`;
  const shards = [...new Set(Object.values(parsed.data.weight_map))];
  const missing = shards.filter((name) => !existsSync(join(folder, name)));
  return missing.length > 0 ? `the weights ${missing.join(", ")} are missing` : null;
}

function lookAtTokenizer(folder: string): string | null {
  if (tokenizerFiles.some((name) => existsSync(join(folder, name)))) return null;
  return `it has no tokenizer (${tokenizerFiles.join(", ")})`;
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    // Not JSON: the schema says what is missing.
    return null;
  }
}
