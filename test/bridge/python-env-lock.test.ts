import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { withLock } from "../../bridge/python/env-lock.js";

const dir = mkdtempSync(join(tmpdir(), "genenv-test-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

test("runs ten at once one after another", async () => {
  const file = join(dir, "ten.lock");
  let inside = 0;
  let most = 0;
  const work = async (): Promise<void> => {
    most = Math.max(most, ++inside);
    await new Promise((resolve) => setTimeout(resolve, 2));
    inside--;
  };
  await Promise.all(Array.from({ length: 10 }, () => withLock(file, work, { pollMs: 1 })));
  expect(most).toBe(1);
  expect(existsSync(file)).toBe(false);
});

test("of ten that find a dead process's lock, one at a time takes it over", async () => {
  const file = join(dir, "ten-dead.lock");
  const { pid } = spawnSync("true");
  let inside = 0;
  let most = 0;
  for (let round = 0; round < 20; round++) {
    writeFileSync(file, `process ${pid} on ${hostname()}`);
    const work = async (): Promise<void> => {
      most = Math.max(most, ++inside);
      await new Promise((resolve) => setTimeout(resolve, 1));
      inside--;
    };
    await Promise.all(Array.from({ length: 10 }, () => withLock(file, work, { pollMs: 1 })));
  }
  expect(most).toBe(1);
});

test("takes over the lock of a process that is dead", async () => {
  const file = join(dir, "dead.lock");
  const { pid } = spawnSync("true");
  writeFileSync(file, `process ${pid} on ${hostname()}`);
  expect(await withLock(file, async () => "done")).toBe("done");
});

test("gives the lock back when the work fails", async () => {
  const file = join(dir, "fails.lock");
  const work = (): Promise<never> => Promise.reject(new Error("no"));
  await expect(withLock(file, work)).rejects.toThrow("no");
  expect(existsSync(file)).toBe(false);
});

test("stops waiting when it is asked to", async () => {
  const file = join(dir, "wait.lock");
  writeFileSync(file, `process ${process.pid} on ${hostname()}`);
  const signal = AbortSignal.timeout(20);
  await expect(withLock(file, async () => {}, { signal, pollMs: 5 })).rejects.toThrow(/timeout/);
});
