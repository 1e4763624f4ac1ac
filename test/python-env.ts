import { execFileSync } from "node:child_process";
import { findReady } from "../bridge/python/setup.js";

/**
 * A Python that has the pinned packages: GENENV_TEST_PYTHON where that is set, else the one genenv has set up;
 * null where there is none yet.
 */
export function testPython(): string | null {
  return process.env.GENENV_TEST_PYTHON ?? findReady()?.python ?? null;
}

/** What a short Python program prints as JSON. */
export function runPython(python: string, program: string, ...args: string[]): unknown {
  return JSON.parse(execFileSync(python, ["-c", program, ...args], { encoding: "utf8" }));
}
