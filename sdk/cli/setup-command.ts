import { type RunParts, realParts } from "../run/parts.js";
import { exitCode } from "./exit.js";
import type { Output } from "./progress.js";

/** `genenv setup`: makes or mends the Python environment, and the default run's model. */
export async function setupCommand(streams: {
  output: Output;
  json?: boolean;
  /** The packages for GPUs, whether or not there is one here. */
  gpu?: boolean;
  parts?: RunParts;
}): Promise<number> {
  const { output, json = false, gpu = false, parts = realParts } = streams;
  const onProgress = (line: string): void => {
    if (!json) output.write(`  ${line}\n`);
  };
  const { python, dir } = await parts.ensurePython({ onProgress, device: gpu ? "cuda" : "cpu" });
  const model = await parts.resolveModel("builtin:smollm2-135m", { python, onProgress });
  output.write(
    json
      ? `${JSON.stringify({ python, dir, model })}\n`
      : `ready: the Python environment is ${dir}\n`,
  );
  return exitCode.done;
}
