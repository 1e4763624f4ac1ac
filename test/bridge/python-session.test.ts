import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { PythonError } from "../../bridge/errors.js";
import { findPython } from "../../bridge/python/interpreter.js";
import {
  type OpenPythonOptions,
  openPython,
  type PythonSession,
} from "../../bridge/python/session.js";
import { writeScript } from "./python-fakes.js";

const dir = mkdtempSync(join(tmpdir(), "genenv-test-"));
const logFile = join(dir, "logs", "python.log");
const open: PythonSession[] = [];

// For the tests that leave it as it was.
let shared: PythonSession;

beforeAll(async () => {
  // Sessions make their private folders here.
  process.env.TMPDIR = dir;
  shared = await openTest();
  open.pop();
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((session) => session.close({ graceMs: 0 })));
});
afterAll(async () => {
  await shared.close();
  rmSync(dir, { recursive: true, force: true });
});

async function openTest(options: Partial<OpenPythonOptions> = {}): Promise<PythonSession> {
  const { path } = await findPython();
  const env = { ...process.env, GENENV_TEST: "1", ...options.env };
  const session = await openPython({ python: path, logFile, graceMs: 500, ...options, env });
  open.push(session);
  return session;
}

async function failure(promise: Promise<unknown>): Promise<PythonError> {
  const error = await promise.then(
    () => expect.fail("it did not fail"),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(PythonError);
  return error as PythonError;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
  } catch {
    return false;
  }
}

async function waitUntil(condition: () => boolean, ms: number): Promise<void> {
  const end = performance.now() + ms;
  while (!condition() && performance.now() < end) await new Promise((go) => setTimeout(go, 20));
  expect(condition()).toBe(true);
}

test("carries params and results whole, with null where something is absent", async () => {
  const params = { text: "ü\n🙂", list: [1, 2.5, null], absent: undefined, nested: { on: true } };
  expect(await shared.call("debug.echo", params)).toEqual({ ...params, absent: null });
  expect(await shared.call("debug.echo")).toEqual({});
  const big = "x".repeat(2_000_000);
  expect(await shared.call("debug.echo", { big })).toEqual({ big });
});

test("runs jobs side by side and delivers each one's events in order", async () => {
  const start = performance.now();
  const sleeps = Array.from({ length: 20 }, () => shared.call("debug.sleep", { seconds: 0.5 }));
  const seen: unknown[] = [];
  const onEvent = (event: Record<string, unknown>): number => seen.push(event.i);
  expect(await shared.call("debug.events", { count: 500 }, { onEvent })).toEqual({ count: 500 });
  await Promise.all(sleeps);
  expect(seen).toEqual(Array.from({ length: 500 }, (_, i) => i));
  expect(performance.now() - start).toBeLessThan(5_000);
});

test("rejects with Python's type, message and traceback when a job fails", async () => {
  const error = await failure(shared.call("debug.fail", { message: "no such thing" }));
  expect(error.message).toBe('the job "debug.fail" failed with builtins.ValueError: no such thing');
  expect(error.code).toBe("python-error");
  expect(error.traceback).toContain("in debug_fail");
  expect(error.hint).toContain(logFile);
});

test("names a job that there is not", async () => {
  const error = await failure(shared.call("trian"));
  expect(error).toMatchObject({ code: "unknown-job", message: 'there is no job "trian"' });
  expect(error.hint).toContain("train, check");
});

test("has no test jobs where GENENV_TEST is not set", async () => {
  const session = await openTest({ env: { GENENV_TEST: undefined } });
  expect((await failure(session.call("debug.die"))).code).toBe("unknown-job");
  expect(await session.call("ping")).toEqual({ pid: session.pid });
});

test("names the number that isn't finite, on either side", async () => {
  const fromPython = await failure(shared.call("debug.nan"));
  expect(fromPython.message).toContain("result.metrics.loss[1] is nan");
  const fromNode = await failure(shared.call("debug.echo", { lr: Number.NaN }));
  expect(fromNode).toMatchObject({
    code: "not-finite",
    message: '"lr" for the job "debug.echo" is NaN',
  });
});

test("rejects every call at once, with the log's last lines, when Python dies", async () => {
  const session = await openTest();
  const sleeping = failure(session.call("debug.sleep", { seconds: 60 }));
  await session.call("ping");
  const start = performance.now();
  const dying = failure(session.call("debug.die", { code: 7 }));
  const [one, two] = await Promise.all([sleeping, dying]);
  expect(performance.now() - start).toBeLessThan(1_000);
  expect(one).toBe(two);
  expect(one.code).toBe("python-died");
  expect(one.message).toBe(
    'Python ended with exit code 7 while it ran "debug.sleep", "debug.die"; its log ends with:\n    about to die',
  );
  expect((await failure(session.call("ping"))).code).toBe("python-died");
});

test("rejects within 50 ms of a kill", async () => {
  const session = await openTest();
  const sleeping = failure(session.call("debug.sleep", { seconds: 60 }));
  await session.call("ping");
  const start = performance.now();
  process.kill(session.pid, "SIGKILL");
  const error = await sleeping;
  // 50 ms is what it takes on an idle machine; tests share theirs.
  expect(performance.now() - start).toBeLessThan(500);
  expect(error.message).toContain(
    "was ended by SIGKILL (the system does that when memory runs out)",
  );
});

test("can be opened again, twice at once, after a death", async () => {
  const first = await openTest();
  await failure(first.call("debug.die"));
  const [second, third] = await Promise.all([openTest(), openTest()]);
  expect(await second?.call("ping")).toEqual({ pid: second?.pid });
  expect(await third?.call("ping")).toEqual({ pid: third?.pid });
});

test("asks a job to stop when the signal aborts, and gives what the job makes of it", async () => {
  const controller = new AbortController();
  const job = shared.call("debug.sleep", { seconds: 60 }, { signal: controller.signal });
  controller.abort();
  expect(await job).toEqual({ stopped: true });
  const aborted = { signal: AbortSignal.abort() };
  expect(await shared.call("debug.sleep", { seconds: 60 }, aborted)).toEqual({ stopped: true });
});

test("gives a call up after its time, and the session goes on", async () => {
  const late = shared.call("debug.sleep", { seconds: 60 }, { timeoutMs: 30 });
  expect((await failure(late)).code).toBe("python-timeout");
  expect(await shared.call("ping")).toEqual({ pid: shared.pid });
});

test("rejects a call with what its event listener throws, and stops the job", async () => {
  const onEvent = (): void => {
    throw new TypeError("mine");
  };
  await expect(shared.call("debug.events", { count: 3 }, { onEvent })).rejects.toThrow("mine");
  expect(await shared.call("ping")).toEqual({ pid: shared.pid });
});

test("lets jobs end by themselves when it closes, and leaves no process and no folder", async () => {
  const session = await openTest();
  const job = session.call("debug.sleep", { seconds: 60 });
  await session.close();
  expect(await job).toEqual({ stopped: true });
  expect(isAlive(session.pid)).toBe(false);
  expect(leftFolders()).toHaveLength(1);
  expect((await failure(session.call("ping"))).code).toBe("python-closed");
  await session.close();
});

test("ends a job that doesn't stop, after the grace period", async () => {
  const session = await openTest();
  const job = failure(session.call("debug.stubborn"));
  await session.call("ping");
  await session.close({ graceMs: 100 });
  expect((await job).code).toBe("python-closed");
  expect(isAlive(session.pid)).toBe(false);
});

test.each([
  ["there is no such Python", "/no/such/python", /did not start: .*exit code 127.*not found/],
  ["the program is no Python", "/bin/true", /did not start: ended with exit code 0/],
])("says so when %s", async (_what, python, message) => {
  const error = await failure(openTest({ python }));
  expect(error.code).toBe("python-start");
  expect(error.message).toMatch(message);
});

test("says which import failed when the Python side can't be loaded", async () => {
  const { path } = await findPython();
  const python = join(dir, "python-without-path");
  writeScript(python, `PYTHONPATH= exec ${path} "$@"`);
  const error = await failure(openTest({ python }));
  expect(error.code).toBe("python-start");
  expect(error.message).toContain("ModuleNotFoundError: No module named 'genenv'");
  expect(readFileSync(logFile, "utf8")).toContain("No module named 'genenv'");
});

test("gives up on a Python that doesn't answer", async () => {
  const python = join(dir, "python-that-hangs");
  writeScript(python, "exec sleep 60");
  const error = await failure(openTest({ python, startTimeoutMs: 300 }));
  expect(error.message).toBe(`${python} did not start: no answer after 0.3 s`);
});

/** The private folders of sessions; the shared one has one. */
function leftFolders(): string[] {
  return readdirSync(dir).filter((name) => name.startsWith("genenv-"));
}

/** A Node of its own with an open session, which tells Python's pid and then does what `then` says. */
function nodeWithSession(then: string): ChildProcess {
  const program = `
    import { openPython } from "./dist/bridge/python/session.js";
    const session = await openPython({ python: process.argv[1], logFile: ${JSON.stringify(logFile)}, graceMs: 200 });
    process.send(session.pid);
    ${then}`;
  const root = join(import.meta.dirname, "../..");
  const env = { ...process.env, GENENV_TEST: "1" };
  return spawn(
    process.execPath,
    ["--input-type=module", "-e", program, process.env.PYTHON ?? "python3"],
    { cwd: root, env, stdio: ["ignore", "inherit", "inherit", "ipc"] },
  );
}

test.each([
  ["is killed", "setInterval(() => {}, 1000); session.call('debug.stubborn');"],
  ["ends without closing", "process.disconnect();"],
])("Python ends, and its folder goes, when Node %s", { timeout: 60_000 }, async (what, then) => {
  const before = leftFolders();
  const node = nodeWithSession(then);
  const pid = await new Promise<number>((resolve) =>
    node.once("message", (m) => resolve(Number(m))),
  );
  const left = new Promise((resolve) => node.once("exit", resolve));
  if (what === "is killed") node.kill("SIGKILL");
  await left;
  // A job that heeds no stop has 20 s to save before it is killed.
  await waitUntil(() => !isAlive(pid), 30_000);
  await expect.poll(leftFolders, { timeout: 10_000 }).toEqual(before);
});
