import type { SessionOptions } from "./session/engine.js";
import type { Generated } from "./session/messages.js";
import type { SessionConfig } from "./session/settings.js";
import { type GenerateRequest, openSession } from "./session.js";

/** What `generate` takes: a session's configuration and a request in one. */
export type GenerateOptions = GenerateRequest &
  Omit<SessionConfig, "sampling"> &
  Omit<SessionOptions, "signal">;

/**
 * Samples of prompts from a model: a folder, builtin:NAME, a hub id or a run's folder. The engine is loaded for
 * this loop and ends with it; `openSession` keeps one.
 */
export async function* generate(
  options: GenerateOptions,
): AsyncGenerator<Generated, void, undefined> {
  const { prompts, n, sampling, signal, raw, onProgress, cwd, logDir, parts, ...config } = options;
  const session = await openSession(config, { signal, onProgress, cwd, logDir, parts });
  try {
    yield* session.generate({ prompts, n, sampling, signal, raw });
  } finally {
    await session.close();
  }
}
