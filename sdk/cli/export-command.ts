import { ConfigError } from "../../bridge/errors.js";
import type { Role } from "../../bridge/hooks/types.js";
import { exportModel } from "../export.js";
import type { ExportArguments } from "./arguments.js";
import { exitCode } from "./exit.js";
import type { Output } from "./progress.js";

/** `genenv export`: copies a model out of a run and says where it is. */
export async function exportCommand(
  run: string,
  options: ExportArguments,
  streams: { output: Output; cwd?: string },
): Promise<number> {
  const { out } = options;
  const role = parseRole(options.role);
  const epoch = options.epoch === undefined ? null : parseEpoch(options.epoch);
  const model = exportModel(run, { role, out, epoch, cwd: streams.cwd });
  streams.output.write(
    options.json
      ? `${JSON.stringify(model)}\n`
      : `the ${model.role} of epoch ${model.epoch} is in ${model.dir}\n`,
  );
  return exitCode.done;
}

function parseRole(text: string): Role {
  if (text === "agent" || text === "environment") return text;
  throw badOption(`--role is ${JSON.stringify(text)}`, "it takes agent or environment");
}

function parseEpoch(text: string): number | "best" {
  if (text === "best") return text;
  if (/^\d+$/.test(text)) return Number(text);
  throw badOption(`--epoch is ${JSON.stringify(text)}`, "it takes a number, or best");
}

const badOption = (message: string, hint: string): ConfigError =>
  new ConfigError(message, { code: "bad-option", hint });
