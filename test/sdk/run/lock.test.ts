import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lockHolder, lockRun, type RunLock } from "../../../sdk/run/lock.js";
import { tempFolder, thrownBy } from "../temp.js";

const lockOf = (dir: string): RunLock =>
  JSON.parse(readFileSync(join(dir, "run.json"), "utf8")) as RunLock;

function writeLock(dir: string, lock: Partial<RunLock>): void {
  const whole = { pid: 1, processStart: null, host: hostname(), startedAt: "2026-01-01" };
  writeFileSync(join(dir, "run.json"), JSON.stringify({ ...whole, ...lock }));
}

/** The pid of a process that is gone. */
async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ["-e", ""]);
  await once(child, "exit");
  return child.pid as number;
}

test("a run's folder is one process's at a time", () => {
  const dir = join(tempFolder(), "runs", "one");
  const unlock = lockRun(dir);
  expect(lockHolder(dir)?.pid).toBe(process.pid);
  const error = thrownBy(() => lockRun(dir));
  expect(error).toMatchObject({ code: "run-busy", place: { file: dir } });
  expect(error.message).toContain(`process ${process.pid}`);
  unlock();
  expect(readdirSync(dir)).toEqual([]);
  lockRun(dir)();
});

test("the lock of a process that is gone counts for nothing", async () => {
  const dir = tempFolder();
  writeLock(dir, { pid: await deadPid() });
  expect(lockHolder(dir)).toBeNull();
  const unlock = lockRun(dir);
  expect(lockOf(dir).pid).toBe(process.pid);
  unlock();
});

test("a process that has a dead one's pid is not taken for it", () => {
  const dir = tempFolder();
  writeLock(dir, { pid: process.pid, processStart: 1 });
  expect(lockHolder(dir)).toBeNull();
  lockRun(dir)();
});

test("a lock that was half written counts for nothing", () => {
  const dir = tempFolder({ "run.json": '{"pid": 12' });
  lockRun(dir)();
  expect(existsSync(join(dir, "run.json"))).toBe(false);
});

test("another machine's lock holds, and the file to remove is named", () => {
  const dir = tempFolder();
  writeLock(dir, { host: "elsewhere" });
  const error = thrownBy(() => lockRun(dir));
  const { pid, startedAt } = lockOf(dir);
  expect(error).toMatchObject({
    code: "run-busy",
    message: `the run is still under way: process ${pid} on elsewhere has been at it since ${startedAt}`,
    place: { file: dir },
    hint: `stop that process first; if elsewhere has no such process, remove ${join(dir, "run.json")}`,
  });
});

test("letting go leaves another's lock alone", () => {
  const dir = tempFolder();
  const unlock = lockRun(dir);
  writeLock(dir, { host: "elsewhere" });
  unlock();
  expect(lockOf(dir).host).toBe("elsewhere");
});
