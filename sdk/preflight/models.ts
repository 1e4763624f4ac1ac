import { ConfigError, type ErrorPlace } from "../../bridge/errors.js";
import { builtinModels, resolveModel } from "../../bridge/python/models.js";

/**
 * Throws unless `model` can be loaded: a built-in's name, a folder with configuration, weights and tokenizer, or a
 * hub id (looked for in the hub's cache where the hub is off). Nothing is prepared or downloaded.
 */
export async function assertModel(
  model: string,
  place: ErrorPlace | null,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<void> {
  if (model === "agent" || builtinModels.includes(model)) return;
  try {
    // Only a built-in model needs Python, and an unknown one is refused before that.
    await resolveModel(model, { python: "", baseDir: "/", env });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { message, code, hint } = error;
    throw new ConfigError(message, { code, hint, place, cause: error });
  }
}
