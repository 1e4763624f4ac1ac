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
  say("checking the hooks' types, and everything else meanwhile");
  const stop = new AbortController();
  const types = assertHookTypes(hookFiles(config), config.projectDir);
  types.catch(() => stop.abort());
  const rest = withPreparedRun(
    {
      config,
      hooks: {},
      parts: streams.parts ?? realParts,
      signal: stop.signal,
      onDetail: say,
      onWarning: (_code, message) => say(`warning: ${message}`),
    },
    async () => {},
  );
  // Wrong types come first where both fail: they explain what else goes wrong in a hook.
  for (const outcome of await Promise.allSettled([types, rest])) {
    if (outcome.status === "rejected") throw outcome.reason;
  }
  streams.output.write(
    options.json ? '{"type":"ok"}\n' : "ok: configuration, data, hooks, models, batches\n",
  );
  return exitCode.done;
}
