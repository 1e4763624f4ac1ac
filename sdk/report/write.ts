import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { GenEnvError } from "../../bridge/errors.js";
import { packageRoot } from "../../bridge/python/paths.js";
import { writeFileAtomic } from "../../bridge/whole-file.js";
import { loadRun } from "../load-run.js";
import type { PackLimits } from "./chunks.js";
import { collectRun } from "./collect.js";
import { type PageParts, toHtml } from "./html.js";

export interface ReportOptions {
  /** Where to write it. Default: report.html in the folder of the first run. */
  out?: string;
  /** Relative names and runs/ start here. Default: the process's folder. */
  cwd?: string;
  limits?: PackLimits;
}

/** Writes one self-contained page about one or several runs (names, or folders) and gives its path. */
export async function writeReport(
  namesOrDirs: readonly string[],
  options: ReportOptions = {},
): Promise<string> {
  const { cwd = process.cwd() } = options;
  const loaded = [];
  for (const name of namesOrDirs) loaded.push(await loadRun(name, { cwd }));
  const [first] = loaded;
  if (!first) throw new RangeError("a report needs at least one run");
  const runs = [];
  for (const run of loaded) runs.push(await collectRun(run, options.limits));
  const out = options.out ?? join(first.dir, "report.html");
  const html = toHtml({ version: version(), writtenMs: Date.now(), runs }, readPage());
  writeFileAtomic(out, html);
  return out;
}

/** The page's script and style, as the build makes them. */
export function readPage(dir = join(packageRoot(), "dist", "sdk", "report")): PageParts {
  const [script, style] = ["page.js", "page.css"].map((name) => {
    const file = join(dir, name);
    if (existsSync(file)) return readFileSync(file, "utf8");
    throw new GenEnvError("the report's page is not built", {
      code: "report-page",
      place: { file },
      hint: "run npm run build, or install genenv again",
    });
  });
  return { script: script ?? "", style: style ?? "" };
}

function version(): string {
  const text = readFileSync(join(packageRoot(), "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
