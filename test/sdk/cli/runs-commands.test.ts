import { spawn } from "node:child_process";
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { doctorCommand } from "../../../sdk/cli/doctor-command.js";
import { logsCommand } from "../../../sdk/cli/logs-command.js";
import { lsCommand, statusCommand } from "../../../sdk/cli/ls-command.js";
import { reportCommand } from "../../../sdk/cli/report-command.js";
import { stopCommand } from "../../../sdk/cli/stop-command.js";
import { lockRun } from "../../../sdk/run/lock.js";
import { rejectionOf, tempFolder } from "../temp.js";

const line = (epoch: number, phase: string, values: object): string =>
  `${JSON.stringify({ time: 1_800_000_000 + epoch, epoch, step: epoch, phase, ...values })}\n`;

const metrics =
  line(0, "validation", { "val/success_rate": 0.1 }) +
  line(1, "agent", { "agent/reward_mean": 0.25 }) +
  line(2, "agent", { "agent/reward_mean": 0.5 }) +
  line(2, "validation", { "val/success_rate": 0.375 });

/** A folder with the runs "first" (done) and "second" (ended after two of eight epochs). */
const project = (): string =>
  tempFolder({
    "runs/first/config.yaml": "trainer: {total_epochs: 2}\n",
    "runs/first/metrics.jsonl": metrics,
    "runs/first/logs/python.log": "one\ntwo\u001b[31m red\nthree\n",
    "runs/second/config.yaml": "trainer: {total_epochs: 8}\n",
    "runs/second/metrics.jsonl": metrics,
    "runs/notes/readme.txt": "no run",
  });

function screen(): { text: string; write(part: string): void } {
  return {
    text: "",
    write(part) {
      this.text += part;
    },
  };
}

const now = (): number => 1_800_000_062_000;

/** A live process that holds the run's lock, ended with the test. */
function holder(runDir: string): { pid: number; gone: Promise<void> } {
  const child = spawn("sleep", ["60"]);
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  const pid = child.pid ?? 0;
  writeLock(runDir, { pid, processStart: startOf(pid) });
  return { pid, gone: new Promise((resolve) => child.once("exit", () => resolve())) };
}

const startOf = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ")[19]);

function writeLock(runDir: string, lock: object): void {
  mkdirSync(runDir, { recursive: true });
  const whole = { host: hostname(), startedAt: "2026-01-01T00:00:00.000Z", ...lock };
  writeFileSync(join(runDir, "run.json"), JSON.stringify(whole));
}

describe("ls and status", () => {
  test("list each run with its state, epoch and last success", async () => {
    const output = screen();
    expect(await lsCommand({}, { output, cwd: project(), now })).toBe(0);
    expect(output.text).toBe(
      "NAME    STATE  EPOCH  SUCCESS  LAST\n" +
        "first   done   2/2    0.375    1 min 0 s ago\n" +
        "second  ended  2/8    0.375    1 min 0 s ago\n",
    );
  });

  test("a run whose lock a process holds is running", async () => {
    const cwd = project();
    const release = lockRun(join(cwd, "runs", "second"));
    const output = screen();
    await lsCommand({ json: true }, { output, cwd });
    release();
    expect(JSON.parse(output.text)).toMatchObject([
      { name: "first", state: "done", pid: null, success: 0.375 },
      { name: "second", state: "running", pid: process.pid, epoch: 2, totalEpochs: 8 },
    ]);
  });

  test("status without a name takes the run under way", async () => {
    const cwd = project();
    const release = lockRun(join(cwd, "runs", "second"));
    const output = screen();
    await statusCommand(null, {}, { output, cwd, now });
    release();
    expect(output.text).toContain(`second: running (process ${process.pid} on ${hostname()})`);
    expect(output.text).toContain("rewards      agent 0.500, environment –");
  });

  test("an unknown run is an error that names those there are", async () => {
    const cwd = project();
    const error = await rejectionOf(statusCommand("frist", {}, { output: screen(), cwd }));
    expect(error).toMatchObject({
      code: "run-missing",
      message: 'there is no run "frist"',
      hint: "the runs there are: first, second",
    });
  });

  test("no runs at all is no error", async () => {
    const output = screen();
    expect(await lsCommand({}, { output, cwd: tempFolder() })).toBe(0);
    expect(output.text).toBe("no runs yet: genenv run starts one\n");
  });
});

describe("logs", () => {
  const onInterrupt = (): (() => void) => () => {};

  test("print the last lines of each log, with terminal escapes taken out", async () => {
    const output = screen();
    const options = { lines: "2" };
    expect(await logsCommand("first", options, { output, cwd: project(), onInterrupt })).toBe(0);
    expect(output.text).toBe("python      | two red\npython      | three\n");
  });

  test("follow what is written until the run ends", async () => {
    const cwd = project();
    const dir = join(cwd, "runs", "first");
    const release = lockRun(dir);
    const output = screen();
    const streams = { output, cwd, onInterrupt, pollMs: 5 };
    const following = logsCommand("first", { lines: "0", follow: true }, streams);
    appendFileSync(join(dir, "logs", "python.log"), "four\nhal");
    writeFileSync(join(dir, "logs", "hooks.log"), "new\n");
    await expect.poll(() => output.text).toContain("hooks       | new\n");
    expect(output.text).toContain("python      | four\n");
    expect(output.text).not.toContain("hal");
    appendFileSync(join(dir, "logs", "python.log"), "f\n");
    release();
    expect(await following).toBe(0);
    expect(output.text).toContain("python      | half\n");
  });

  test("a number of lines that is none is a usage error", async () => {
    const streams = { output: screen(), cwd: project(), onInterrupt };
    expect(await rejectionOf(logsCommand("first", { lines: "-3" }, streams))).toMatchObject({
      code: "bad-option",
    });
  });
});

describe("stop", () => {
  test("asks the run's process to end, and waits until it has", async () => {
    const cwd = project();
    const { pid, gone } = holder(join(cwd, "runs", "second"));
    const output = screen();
    expect(await stopCommand("second", {}, { output, cwd, pollMs: 10 })).toBe(0);
    await gone;
    expect(output.text).toBe(`asked process ${pid} to end second\nsecond has ended\n`);
  });

  test("never signals a process that got the pid of one that is gone", async () => {
    const cwd = project();
    const dir = join(cwd, "runs", "second");
    const { pid } = holder(dir);
    writeLock(dir, { pid, processStart: startOf(pid) - 1 });
    const signalled: number[] = [];
    const output = screen();
    const signal = (to: number): void => void signalled.push(to);
    expect(await stopCommand("second", {}, { output, cwd, signal })).toBe(0);
    expect(output.text).toBe("second is not running\n");
    expect(signalled).toEqual([]);
  });

  test("refuses a run of another machine, and says where it is", async () => {
    const cwd = project();
    writeLock(join(cwd, "runs", "second"), { pid: 1, processStart: 1, host: "elsewhere" });
    const signal = (): void => {
      throw new Error("signalled");
    };
    const error = await rejectionOf(stopCommand("second", {}, { output: screen(), cwd, signal }));
    expect(error).toMatchObject({ code: "run-elsewhere" });
    expect(error.message).toContain("is on elsewhere");
  });

  test("gives up waiting for a run that doesn't end", async () => {
    const cwd = project();
    holder(join(cwd, "runs", "second"));
    const output = screen();
    const streams = { output, cwd, signal: () => {}, pollMs: 5, withinMs: 20 };
    expect(await stopCommand("second", { json: true }, streams)).toBe(1);
    expect(JSON.parse(output.text)).toEqual({ name: "second", state: "running" });
  });
});

describe("report", () => {
  test("writes report.html into the run's folder and says where", async () => {
    const cwd = project();
    const output = screen();
    expect(await reportCommand(["first"], { open: "no" }, { output, cwd })).toBe(0);
    const file = join(cwd, "runs", "first", "report.html");
    expect(output.text).toBe(`report ${file}\n`);
    expect(readFileSync(file, "utf8")).toContain("<title>genenv: first</title>");
  });

  test("takes no other word for --open", async () => {
    const streams = { output: screen(), cwd: project() };
    expect(await rejectionOf(reportCommand(["first"], { open: "now" }, streams))).toMatchObject({
      code: "bad-option",
    });
  });
});

describe("doctor", () => {
  const fine = { name: "Node", status: "ok", value: "20.19.4", why: "w", mend: null } as const;
  const poor = { name: "Disk", status: "fail", value: "full", why: "room", mend: "free" } as const;

  test("shows why and how to mend only where something is wrong, and then leaves with 1", async () => {
    const output = screen();
    expect(await doctorCommand({}, { output, examine: async () => [fine, poor] })).toBe(1);
    expect(output.text).toBe(
      "ok    Node        20.19.4\nFAIL  Disk        full\n" +
        `${" ".repeat(18)}why: room\n${" ".repeat(18)}mend: free\n`,
    );
  });

  test("gives its findings as JSON", async () => {
    const output = screen();
    expect(await doctorCommand({ json: true }, { output, examine: async () => [fine] })).toBe(0);
    expect(JSON.parse(output.text)).toEqual([fine]);
  });
});
