import { resolve } from "node:path";
import { ConfigError } from "../../bridge/errors.js";
import { openFile } from "../report/open.js";
import { writeReport } from "../report/write.js";
import { exitCode } from "./exit.js";
import type { Output } from "./progress.js";

export interface ReportArguments {
  out?: string;
  open?: string;
  json?: boolean;
  debug?: boolean;
}

/** `genenv report`: writes the page about one or several runs. */
export async function reportCommand(
  names: readonly string[],
  options: ReportArguments,
  streams: { output: Output & { isTTY?: boolean }; cwd?: string },
): Promise<number> {
  const { cwd = process.cwd(), output } = streams;
  const { open = "auto", json = false } = options;
  if (!["auto", "yes", "no"].includes(open)) {
    throw new ConfigError(`--open takes auto, yes or no, not ${JSON.stringify(open)}`, {
      code: "bad-option",
      hint: "auto opens the report where a person looks at this terminal on a desktop",
    });
  }
  const out = options.out === undefined ? undefined : resolve(cwd, options.out);
  const file = await writeReport(names, { out, cwd });
  output.write(json ? `${JSON.stringify({ type: "report", file })}\n` : `report ${file}\n`);
  if (open === "yes" || (open === "auto" && output.isTTY === true && !json)) openFile(file);
  return exitCode.done;
}
