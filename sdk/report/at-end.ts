import { existsSync } from "node:fs";
import { join } from "node:path";
import { writeReport } from "./write.js";

/** Writes the report of a run that ends, where it has anything to show. What goes wrong is a warning: the run is done all the same. */
export async function writeReportAtEnd(
  runDir: string,
  onWarning: (code: string, message: string) => void,
): Promise<void> {
  if (!existsSync(join(runDir, "metrics.jsonl"))) return;
  try {
    await writeReport([runDir]);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    onWarning("report-failed", `the run's report was not written: ${why}; try genenv report`);
  }
}
