/** Errors that a user can cause and no other test is about: code, words, place and next step. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { type GenEnvError, inOurWords } from "../../bridge/errors.js";
import { startHookHost } from "../../bridge/hooks/host.js";
import { examine } from "../../bridge/python/doctor.js";
import { resolveModel } from "../../bridge/python/models.js";
import { ensurePython } from "../../bridge/python/setup.js";
import { runAction } from "../../sdk/cli/exit.js";
import { writeDataset } from "../../sdk/data/write.js";
import { openResultFile } from "../../sdk/eval/result-file.js";
import { writeReportAtEnd } from "../../sdk/report/at-end.js";
import { readPage } from "../../sdk/report/write.js";
import { fakeMachine, fakePython, writeScript } from "../bridge/python-fakes.js";
import { rejectionOf, tempFolder, thrownBy } from "./temp.js";

const facts = (error: Error): object => {
  const { code, message, hint, place } = error as GenEnvError;
  return { code, message, hint, place };
};

test("values of several types in one column: mixed-types", async () => {
  const rows = [
    { prompt: "1 + 1?", groundTruth: "2" },
    { prompt: "2 + 2?", groundTruth: { answer: 4 } },
  ];
  const error = await rejectionOf(writeDataset(rows, join(tempFolder(), "train.parquet")));
  expect(facts(error)).toEqual({
    code: "mixed-types",
    message: "can't write groundTruth: it is text in one row and struct in another",
    hint: "give groundTruth the same type in every row, a text where nothing else fits",
    place: { at: "row 2" },
  });
});

test("an --out that is no evaluation's: eval-file", () => {
  const file = join(tempFolder({ "notes.jsonl": '{"a": 1}\n' }), "notes.jsonl");
  const error = thrownBy(() => openResultFile(file, { model: "m" }));
  expect(facts(error)).toEqual({
    code: "eval-file",
    message: "this is no result of an evaluation",
    hint: "give a new file as --out, or one that an evaluation wrote",
    place: { file, line: 1 },
  });
});

test("a built-in model that can't be prepared: model-failed, with Python's last line", async () => {
  const python = join(tempFolder(), "python");
  writeScript(python, 'echo "Traceback" >&2; echo "OSError: no space" >&2; exit 1');
  const error = await rejectionOf(resolveModel("builtin:tiny", { python, env: process.env }));
  expect(facts(error)).toMatchObject({
    code: "model-failed",
    message: "the model tiny could not be prepared: OSError: no space",
    hint: "run genenv setup, then try again",
  });
});

test("no uv, and a Python without pip: uv-missing", async () => {
  const fake = fakeMachine();
  onTestFinished(() => rmSync(fake.dir, { recursive: true, force: true }));
  rmSync(join(fake.dir, "bin/uv"));
  const python = join(fake.dir, "bin/python3.11");
  writeScript(python, fakePython("3.11.7", python, "echo 'No module named pip' >&2; exit 1"));
  const env = { ...fake.env, PATH: join(fake.dir, "bin") };
  writeScript(join(fake.dir, "bin/sh"), 'exec /bin/sh "$@"');
  const error = await rejectionOf(ensurePython({ ...fake, env }));
  expect(facts(error)).toMatchObject({
    code: "uv-missing",
    message: `there is no uv, and ${python} could not install it: this Python has no pip`,
    hint: "install uv (https://docs.astral.sh/uv) or pip (Debian, Ubuntu: apt install python3-pip), then run genenv setup",
  });
});

test("an environment that is not there is a warning of the doctor's: not-set-up", async () => {
  const env = { ...process.env, XDG_CACHE_HOME: tempFolder(), GENENV_PYTHON_ENV: undefined };
  const found = (await examine(env)).find((finding) => finding.name === "Packages");
  expect(found).toMatchObject({ status: "warning", value: "not set up, or not complete" });
  expect(found?.mend).toBe("run genenv setup (the first run does it too)");
});

test("a folder for hooks that can't be made: hook-host", async () => {
  const folder = tempFolder({ file: "" });
  const dir = join(folder, "file", "below");
  const modules = { reward: null, environment: null, curriculum: null, algorithms: null };
  const host = startHookHost({ modules, dir, logFile: null, projectDir: folder });
  expect(facts(await rejectionOf(host))).toMatchObject({
    code: "hook-host",
    message: expect.stringContaining(`the hook host's folder ${dir} can't be made private: `),
    hint: "give a folder on a file system of this machine that you own",
  });
});

test("a report that can't be written at a run's end is a warning: report-failed", async () => {
  const runDir = tempFolder({ "metrics.jsonl": "no JSON\n" });
  mkdirSync(join(runDir, "logs"));
  writeFileSync(join(runDir, "config.yaml"), "trainer: {total_epochs: 1}\n");
  const warnings: string[][] = [];
  await writeReportAtEnd(runDir, (code, message) => void warnings.push([code, message]));
  expect(warnings).toEqual([
    [
      "report-failed",
      expect.stringMatching(/^the run's report was not written: row 1: .*; try genenv report$/),
    ],
  ]);
});

test("a report's page that isn't built: report-page", () => {
  const folder = tempFolder();
  expect(facts(thrownBy(() => readPage(folder)))).toEqual({
    code: "report-page",
    message: "the report's page is not built",
    hint: "run npm run build, or install genenv again",
    place: { file: join(folder, "page.js") },
  });
});

test("a full disk, wherever it shows: disk-full", () => {
  const thrown = thrownBy(() => writeFileSync("/dev/full", "x"));
  expect(facts(inOurWords(thrown) as Error)).toEqual({
    code: "disk-full",
    message: "no room is left on the disk: ENOSPC: no space left on device, write",
    hint: "make room, or take another disk: trainer.default_local_dir for runs, TMPDIR for temporary files",
    place: null,
  });
});

test("a folder without access, and one on a read-only file system: no-access", () => {
  const denied = { code: "EACCES", syscall: "mkdir", path: "/runs/one" };
  const error = Object.assign(new Error("EACCES: permission denied, mkdir '/runs/one'"), denied);
  expect(facts(inOurWords(error) as Error)).toEqual({
    code: "no-access",
    message: "access is denied: EACCES: permission denied, mkdir '/runs/one'",
    hint: "give yourself the right, or take another folder",
    place: { file: "/runs/one" },
  });
});

test("errors that say more by themselves stay as they are", () => {
  const watchers = Object.assign(new Error("ENOSPC: System limit for number of file watchers"), {
    code: "ENOSPC",
    syscall: "watch",
  });
  for (const error of [watchers, new TypeError("x"), "text"]) expect(inOurWords(error)).toBe(error);
});

test("a full disk leaves the command line with its code and what to do", async () => {
  const written = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  const before = process.exitCode;
  try {
    await runAction({}, async () => {
      writeFileSync("/dev/full", "x");
      return 0;
    });
    expect(process.exitCode).toBe(1);
    expect(written.mock.calls.flat().join("")).toBe(
      "error: no room is left on the disk: ENOSPC: no space left on device, write\n" +
        "  next: make room, or take another disk: trainer.default_local_dir for runs, TMPDIR for temporary files\n",
    );
  } finally {
    written.mockRestore();
    process.exitCode = before;
  }
});
