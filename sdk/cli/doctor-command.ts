import type { Finding } from "../../bridge/python/finding.js";
import { exitCode } from "./exit.js";
import type { Output } from "./progress.js";
import { toSafeText } from "./progress-text.js";

const marks = { ok: "ok  ", warning: "warn", fail: "FAIL" } as const;

/** `genenv doctor`: each thing with what was seen, why it matters and how to mend it. */
export async function doctorCommand(
  { json = false }: { json?: boolean },
  { output, examine }: { output: Output; examine?: () => Promise<Finding[]> },
): Promise<number> {
  const look = examine ?? (await import("../../bridge/python/doctor.js")).examine;
  const findings = await look();
  output.write(json ? `${JSON.stringify(findings)}\n` : findings.map(toText).join(""));
  return findings.some(({ status }) => status === "fail") ? exitCode.failed : exitCode.done;
}

function toText({ name, status, value, why, mend }: Finding): string {
  const lines = [`${marks[status]}  ${name.padEnd(10)}  ${value.split("\n").join("; ")}`];
  if (mend !== null) lines.push(`${" ".repeat(18)}why: ${why}`, `${" ".repeat(18)}mend: ${mend}`);
  return lines.map((line) => `${toSafeText(line)}\n`).join("");
}
