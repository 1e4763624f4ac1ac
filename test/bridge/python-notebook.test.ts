import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { GenEnvError } from "../../bridge/errors.js";
import { ensureKernel } from "../../bridge/python/kernel.js";
import { ensureNotebook } from "../../bridge/python/notebook.js";
import { readNotebookPins } from "../../bridge/python/pins.js";
import { rejectionOf } from "../sdk/temp.js";
import { type FakeMachine, fakeMachine, writeScript } from "./python-fakes.js";

/** A machine of shell scripts with an npm whose `ci` makes tslab's folder, or does what `script` says. */
function machine(script = 'mkdir -p "$3/node_modules/tslab/bin"'): FakeMachine {
  const fake = fakeMachine();
  onTestFinished(() => rmSync(fake.dir, { recursive: true, force: true }));
  writeScript(join(fake.dir, "bin/npm"), `echo "$*" >> ${fake.dir}/npm.log\n${script}`);
  return fake;
}

const npmCalls = ({ dir }: FakeMachine): string[] =>
  existsSync(join(dir, "npm.log"))
    ? readFileSync(join(dir, "npm.log"), "utf8").trim().split("\n")
    : [];

/** What ensureKernel says in a folder of its own. */
async function failure(fake: FakeMachine): Promise<GenEnvError> {
  const options = { dir: join(fake.dir, "made"), env: fake.env, onProgress: () => {} };
  return (await rejectionOf(ensureKernel(options))) as GenEnvError;
}

test("puts the kernel into an environment of the notebook's own, without install scripts", async () => {
  const fake = machine();
  const { dir } = await ensureNotebook({
    ...fake,
    env: { ...fake.env, GENENV_PYTHON_ENV: "/engines" },
  });
  expect(dir).toContain(join("genenv", "python", "3.11-"));
  expect(npmCalls(fake)).toEqual([
    expect.stringMatching(/^ci --prefix .*tslab-\w+\.\S+ --ignore-scripts --no-audit --no-fund$/),
  ]);
  const spec = JSON.parse(
    readFileSync(join(dir, "share/jupyter/kernels/tslab/kernel.json"), "utf8"),
  );
  expect(spec).toMatchObject({ display_name: "TypeScript", language: "typescript" });
  expect(spec.argv).toEqual([
    process.execPath,
    expect.stringMatching(/tslab-\w+\/node_modules\/tslab\/bin\/tslab$/),
    "kernel",
    "--config-path",
    "{connection_file}",
  ]);
  expect(existsSync(spec.argv[1].replace(/\/tslab$/, ""))).toBe(true);
});

test("installs the kernel once", async () => {
  const fake = machine();
  await ensureNotebook(fake);
  await ensureNotebook(fake);
  expect(npmCalls(fake)).toHaveLength(1);
});

test("two set-ups at once end with one kernel", async () => {
  const fake = machine('mkdir -p "$3/node_modules/tslab/bin"; sleep 0.2');
  const dir = join(fake.dir, "made");
  const options = { dir, env: fake.env, onProgress: () => {} };
  await Promise.all([ensureKernel(options), ensureKernel(options)]);
  expect(readdirSync(dir).filter((name) => name.startsWith("tslab-"))).toHaveLength(1);
});

test("pins Jupyter exactly, apart from the engines", () => {
  const { packages, lockFile } = readNotebookPins();
  expect(lockFile).toMatch(/notebook\.lock$/);
  expect(packages.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["jupyterlab", "nbclient", "nbconvert"]),
  );
  expect(packages.map(({ name }) => name)).not.toContain("torch");
});

test("the kernel's lock is for one version, from no registry in particular", () => {
  const text = readFileSync("py/requirements/tslab/package-lock.json", "utf8");
  expect(text).not.toMatch(/"resolved"/);
  expect(JSON.parse(text).packages["node_modules/tslab"].version).toBe("1.0.22");
});

test("says that npm is missing, and what to do", async () => {
  const fake = machine();
  rmSync(join(fake.dir, "bin/npm"));
  const env = { ...fake.env, PATH: join(fake.dir, "bin") };
  const error = await failure({ ...fake, env });
  expect(error).toMatchObject({
    code: "npm-missing",
    message: "npm, which brings the notebook's TypeScript kernel, is not on PATH",
    hint: "install npm (it comes with Node), then run genenv notebook again",
  });
});

test.each([
  [
    "no network",
    "npm error code ENOTFOUND\nnpm error network request to https://example.invalid/tslab failed",
    "setup-network",
    /^could not download the notebook's TypeScript kernel: .*example\.invalid/,
  ],
  [
    "a full disk",
    "npm error code ENOSPC\nnpm error nospc no space left on device",
    "setup-disk",
    /^the disk is full: the notebook's TypeScript kernel is not installed$/,
  ],
  [
    "anything else",
    "npm error code EUSAGE\nnpm error the lock does not fit",
    "setup-failed",
    /^npm could not install the notebook's TypeScript kernel: .*the lock does not fit$/,
  ],
])("says what npm failed of: %s", async (_name, words, code, message) => {
  const fake = machine(`cat >&2 <<'END'\n${words}\nEND\nexit 1`);
  const error = await failure(fake);
  expect(error.code).toBe(code);
  expect(error.message).toMatch(message);
  expect(error.hint).toBeTruthy();
  expect(readdirSync(join(fake.dir, "made"))).toEqual([]);
});
