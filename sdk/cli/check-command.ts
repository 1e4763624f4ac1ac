import { resolveConfig } from "../config/resolve.js";
import { assertHookTypes } from "../preflight/hook-types.js";
import { hookFiles } from "../run/hook-modules.js";
import { type RunParts, realParts } from "../run/parts.js";
import { withPreparedRun } from "../run/prepare.js";
import { type RunArguments, splitArguments } from "./arguments.js";
import { exitCode } from "./exit.js";
import type { Output } from "./progress.js";
import { toSafeText } from "./progress-text.js";

/** `genenv check`: everything `run` checks before it starts Ray. */
export async function checkCommand(
  args: readonly string[],
  options: RunArguments,
  streams: { output: Output; parts?: RunParts; cwd?: string },
): Promise<number> {
  const { model, envModel, name } = options;
  const { cwd } = streams;
  const config = resolveConfig({ ...splitArguments(args), model, envModel, name, cwd });
  const say = (line: string): void => {
    if (!options.json) streams.output.write(`  ${toSafeText(line)}\n`);
  };
  say("checking the hooks' types");
  await assertHookTypes(hookFiles(config), config.projectDir);
  await withPreparedRun(
    {
      config,
      hooks: {},
      parts: streams.parts ?? realParts,
      signal: new AbortController().signal,
      onDetail: say,
      onWarning: (_code, message) => say(`warning: ${message}`),
    },
    async () => {},
  );
  streams.output.write(
    options.json ? '{"type":"ok"}\n' : "ok: configuration, data, hooks, models, batches\n",
  );
  return exitCode.done;
}
