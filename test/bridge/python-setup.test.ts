import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { isUsageError } from "../../bridge/errors.js";
import { assertDiskSpace } from "../../bridge/python/preflight.js";
import { ensurePython, findReady } from "../../bridge/python/setup.js";
import { type FakeMachine, fakeMachine, fakePython, writeScript } from "./python-fakes.js";

const made: FakeMachine[] = [];
afterEach(() => {
  for (const machine of made.splice(0)) rmSync(machine.dir, { recursive: true, force: true });
});

function machine(): FakeMachine {
  const fake = fakeMachine();
  made.push(fake);
  return fake;
}

const installs = (fake: FakeMachine): string[] =>
  readFileSync(fake.uvLog, "utf8")
    .split("\n")
    .filter((line) => line.startsWith("pip install"));

async function failure(promise: Promise<unknown>): Promise<{ code: string; message: string }> {
  const error: unknown = await promise.then(
    () => expect.fail("it did not fail"),
    (reason: unknown) => reason,
  );
  const { code, message } = error as { code: string; message: string };
  return { code, message };
}

test("makes the environment, says what it does, and finds it again without starting anything", async () => {
  const fake = machine();
  const lines: string[] = [];
  const first = await ensurePython({ ...fake, onProgress: (line) => lines.push(line) });
  expect(first.python).toBe(join(first.dir, "bin/python"));
  expect(lines).toEqual([
    expect.stringContaining("Python 3.11.7 at"),
    expect.stringContaining("installing 2 packages"),
    "Installed 2 packages in 1ms",
    expect.stringMatching(/^the Python environment is ready \(\d+ s\)$/),
  ]);
  rmSync(fake.uvLog);
  expect(await ensurePython(fake)).toEqual(first);
  expect(existsSync(fake.uvLog)).toBe(false);
});

test("mends an environment whose making was interrupted", async () => {
  const fake = machine();
  writeFileSync(join(fake.dir, "uv-fails"), "killed half way");
  await expect(ensurePython(fake)).rejects.toThrow("killed half way");
  expect(findReady(fake.env, fake.pins)).toBeNull();
  rmSync(join(fake.dir, "uv-fails"));
  const lines: string[] = [];
  await ensurePython({ ...fake, onProgress: (line) => lines.push(line) });
  expect(lines[0]).toBe("mending the Python environment: its making was interrupted");
  expect(findReady(fake.env, fake.pins)).not.toBeNull();
});

test("notices that a package has gone and installs it again", async () => {
  const fake = machine();
  const { dir } = await ensurePython(fake);
  rmSync(join(dir, "lib/python3.11/site-packages/left_pad-1.0.dist-info"), { recursive: true });
  const lines: string[] = [];
  await ensurePython({ ...fake, onProgress: (line) => lines.push(line) });
  expect(lines[0]).toContain("1 of its packages are missing (left-pad 1.0)");
  expect(installs(fake)).toHaveLength(2);
});

test("makes another folder when a pin changes, and leaves the first", async () => {
  const fake = machine();
  const first = await ensurePython(fake);
  const packages = [{ name: "left-pad", version: "1.0" }];
  const second = await ensurePython({ ...fake, pins: { ...fake.pins, packages } });
  expect(second.dir).not.toBe(first.dir);
  expect(findReady(fake.env, fake.pins)).toEqual(first);
});

test("builds anew in GENENV_PYTHON_ENV when a pin changes", async () => {
  const fake = machine();
  const env = { ...fake.env, GENENV_PYTHON_ENV: join(fake.dir, "own") };
  await ensurePython({ ...fake, env });
  const pins = { ...fake.pins, aliases: [] };
  expect(findReady(env, pins)).toBeNull();
  expect((await ensurePython({ ...fake, env, pins })).dir).toBe(env.GENENV_PYTHON_ENV);
});

test("uses a virtual environment of one's own as it is", async () => {
  const fake = machine();
  const own = join(fake.dir, "own");
  mkdirSync(join(own, "bin"), { recursive: true });
  writeFileSync(join(own, "bin/python"), "");
  const found = await ensurePython({ ...fake, env: { ...fake.env, GENENV_PYTHON_ENV: own } });
  expect(found.dir).toBe(own);
  expect(readdirSync(own)).toEqual(["bin"]);
});

test("refuses a GENENV_PYTHON_ENV that holds something else", async () => {
  const fake = machine();
  const env = { ...fake.env, GENENV_PYTHON_ENV: join(fake.dir, "bin") };
  expect((await failure(ensurePython({ ...fake, env }))).code).toBe("python-env-occupied");
  expect(existsSync(join(fake.dir, "bin/uv"))).toBe(true);
});

test("lets one of two set-ups at once do the work, and tells the other to wait", async () => {
  const fake = machine();
  writeFileSync(join(fake.dir, "uv-slow"), "");
  const lines: string[] = [];
  const onProgress = (line: string): number => lines.push(line);
  const [one, two] = await Promise.all([
    ensurePython({ ...fake, onProgress }),
    ensurePython({ ...fake, onProgress }),
  ]);
  expect(one).toEqual(two);
  expect(installs(fake)).toHaveLength(1);
  expect(lines).toContainEqual(expect.stringContaining("waiting for another set-up"));
});

test("asks the user's own package sources first and uv's index for torch after them", async () => {
  const fake = machine();
  writeFileSync(join(fake.dir, "no-torch"), "Because there is no version of torch==2.0+cpu");
  await ensurePython({ ...fake, env: { ...fake.env, PIP_FIND_LINKS: "/wheels" } });
  const [first, second] = installs(fake);
  expect(first).not.toContain("torch-backend");
  expect(first).toContain("UV_FIND_LINKS=/wheels");
  expect(second).toContain("--torch-backend=cpu");
});

test("brings uv with pip where the machine has none", async () => {
  const fake = machine();
  const bin = join(fake.dir, "bin");
  const uv = readFileSync(join(bin, "uv"), "utf8");
  rmSync(join(bin, "uv"));
  writeFileSync(join(fake.dir, "uv-to-bring"), uv, { mode: 0o755 });
  const onPip = `for a; do [ "$prev" = --target ] && target=$a; prev=$a; done; mkdir -p "$target/bin"; cp ${fake.dir}/uv-to-bring "$target/bin/uv"`;
  writeScript(join(bin, "python3.11"), fakePython("3.11.7", join(bin, "python3.11"), onPip));
  const env = { ...fake.env, PATH: `${bin}:/usr/bin:/bin` };
  const lines: string[] = [];
  await ensurePython({ ...fake, env, onProgress: (line) => lines.push(line) });
  expect(lines[1]).toMatch(/^bringing uv \d/);
});

test.each([
  [
    "no network",
    "error: Failed to fetch: `https://index.example/left-pad/`\n  Caused by: dns error",
    "setup-network",
    "could not download the Python packages: Failed to fetch: `https://index.example/left-pad/` - dns error",
  ],
  [
    "a full disk",
    "error: failed to write: No space left on device (os error 28)",
    "setup-disk",
    "the disk is full: the Python packages could not be installed",
  ],
])("says in a sentence that there is %s", async (_what, stderr, code, message) => {
  const fake = machine();
  writeFileSync(join(fake.dir, "uv-fails"), stderr);
  expect(await failure(ensurePython(fake))).toEqual({ code, message });
});

test("says which Python it found when none fits", async () => {
  const fake = machine();
  const bin = join(fake.dir, "bin");
  rmSync(join(bin, "python3.11"));
  writeScript(join(bin, "python3"), fakePython("3.9.2", "/usr/bin/python3"));
  for (const name of ["python3.12", "python3.11"]) writeScript(join(bin, name), "exit 127");
  expect(await failure(ensurePython(fake))).toEqual({
    code: "python-version",
    message: "genenv needs Python 3.11 or 3.12 and found Python 3.9.2 at /usr/bin/python3",
  });
});

test("says that PYTHON names nothing that starts", async () => {
  const fake = machine();
  const env = { ...fake.env, PYTHON: "/no/such/python" };
  expect(await failure(ensurePython({ ...fake, env }))).toEqual({
    code: "python-missing",
    message: "PYTHON=/no/such/python is not a Python that starts",
  });
});

test("says where genenv runs on a machine of another kind, as a usage error", async () => {
  const mac = { platform: "darwin", arch: "arm64" };
  const error = await ensurePython({ machine: mac }).catch((reason: unknown) => reason);
  expect(isUsageError(error)).toBe(true);
  expect((error as Error).message).toBe(
    "genenv trains on Linux x86_64 and this machine is darwin arm64",
  );
});

test("asks for room on the disk before it starts", async () => {
  const error = await failure(assertDiskSpace("/no/such/folder/yet", 1e9));
  expect(error.code).toBe("setup-disk");
  expect(error.message).toContain("/no/such/folder/yet has");
});
