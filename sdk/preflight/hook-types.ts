import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { HookError } from "../../bridge/errors.js";
import type { TypeProblem } from "./type-problem.js";

/**
 * Throws a HookError "hook-types" where TypeScript's own checker finds errors in these hook files, or in the project's
 * files that they import. It works in a thread of its own: loading a compiler and checking takes seconds.
 */
export async function assertHookTypes(files: readonly string[], projectDir: string): Promise<void> {
  const worker = new Worker(workerFile(), { workerData: { files, projectDir } });
  try {
    const [problem] = (await once(worker, "message")) as [TypeProblem | null];
    if (problem === null) return;
    throw new HookError(problem.message, {
      code: "hook-types",
      hint: "mend the types; a run doesn't check them, and would start",
      place: problem.place,
    });
  } finally {
    await worker.terminate();
  }
}

/** The compiled module; run from the sources (the tests do), the one in the build beside them. */
function workerFile(): string {
  const isSource = import.meta.url.endsWith(".ts");
  const name = "hook-types-worker.js";
  return fileURLToPath(
    new URL(isSource ? `../../dist/sdk/preflight/${name}` : name, import.meta.url),
  );
}
