import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import type { Message } from "../../bridge/hooks/types.js";
import type { RunParts } from "../run/parts.js";

/** Counts the tokens of prompts under a model's chat template, in Python's own tokenizer. */
export interface TokenCounter {
  count(prompts: readonly Message[][]): Promise<number[]>;
  close(): Promise<void>;
}

const lengthsSchema = z.object({ lengths: z.array(z.int()) });

/** Sets Python up where that is needed; throws ConfigError where the model is none. */
export async function openTokenCounter(
  model: string,
  options: { parts: RunParts; cwd: string; onProgress(line: string): void },
): Promise<TokenCounter> {
  const { parts, cwd, onProgress } = options;
  const { python } = await parts.ensurePython({ onProgress });
  const path = await parts.resolveModel(model, { python, baseDir: cwd, onProgress });
  const logs = mkdtempSync(join(tmpdir(), "genenv-data-"));
  const session = await parts.openPython({ python, logFile: join(logs, "python.log") });
  return {
    async count(prompts) {
      const answer = await session.call("token-lengths", { model: path, prompts });
      return lengthsSchema.parse(answer).lengths;
    },
    async close() {
      await session.close();
      rmSync(logs, { recursive: true, force: true });
    },
  };
}
