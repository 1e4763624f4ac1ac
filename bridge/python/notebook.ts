import { ensureKernel } from "./kernel.js";
import { readNotebookPins } from "./pins.js";
import { type EnsurePythonOptions, ensurePython, type PythonEnv } from "./setup.js";

/**
 * The project's own Jupyter, with the TypeScript kernel, made or mended first if need be: an environment beside the
 * engines', so that neither set of pins holds the other back. Throws what `ensurePython` throws, and "npm-missing".
 */
export async function ensureNotebook(options: EnsurePythonOptions = {}): Promise<PythonEnv> {
  // That variable names the engines' environment.
  const { GENENV_PYTHON_ENV: _, ...env } = options.env ?? process.env;
  const pins = options.pins ?? readNotebookPins();
  const made = await ensurePython({ ...options, env, pins });
  const { onProgress = () => {}, signal } = options;
  await ensureKernel({ dir: made.dir, env, onProgress, signal });
  return made;
}
