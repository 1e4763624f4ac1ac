import { type RunParts, realParts } from "../run/parts.js";
import { exitCode } from "./exit.js";
import type { Output } from "./progress.js";

/** `genenv setup`: makes or mends the Python environment, and the default run's model. */
export async function setupCommand(streams: { output: Output; parts?: RunParts }): Promise<number> {
  const { output, parts = realParts } = streams;
  const onProgress = (line: string): void => {
    output.write(`  ${line}\n`);
  };
  const { python, dir } = await parts.ensurePython({ onProgress });
  await parts.resolveModel("builtin:smollm2-135m", { python, onProgress });
  output.write(`ready: the Python environment is ${dir}\n`);
  return exitCode.done;
}
