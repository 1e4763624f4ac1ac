import { describe, expect, test, vi } from "vitest";
import { ConfigError, HookError, PythonError } from "../../../bridge/errors.js";
import { splitArguments } from "../../../sdk/cli/arguments.js";
import { checkCommand } from "../../../sdk/cli/check-command.js";
import { exitCodeOf, runAction } from "../../../sdk/cli/exit.js";
import { runCommand } from "../../../sdk/cli/run-command.js";
import { setupCommand } from "../../../sdk/cli/setup-command.js";
import { type FakeParts, fakeParts, fakeResult } from "../run/fake-parts.js";
import { tempProject } from "../run/project.js";
import { rejectionOf } from "../temp.js";

interface Screen {
  text: string;
  interrupt(): void;
  left: boolean;
}

async function run(
  parts: FakeParts,
  args: string[] = [],
  options: { json?: boolean } = {},
  during: (screen: Screen) => Promise<void> = async () => {},
): Promise<{ code: number; screen: Screen }> {
  const cwd = await tempProject();
  const screen: Screen = { text: "", interrupt: () => {}, left: false };
  const running = runCommand(
    ["my.yaml", ...args],
    { name: "one", ...options },
    {
      output: { write: (part: string) => (screen.text += part) },
      onInterrupt: (listener) => {
        screen.interrupt = listener;
        return () => {};
      },
      leave: () => {
        screen.left = true;
      },
      parts,
      cwd,
    },
  );
  await during(screen);
  return { code: await running, screen };
}

describe("run", () => {
  test("shows where it runs, each epoch and how it ended, and gives 0", async () => {
    const { code, screen } = await run(fakeParts());
    expect(code).toBe(0);
    expect(screen.text).toMatch(/^run one in \/.*\/runs\/one\n/);
    expect(screen.text).toContain("epoch 1/2 | agent 0.250");
    expect(screen.text).toMatch(/done: 2 epochs in .*\n {2}run .*\n {2}checkpoint \/c\n$/);
  });

  test("as JSON gives an object a line, the result last", async () => {
    const { screen } = await run(fakeParts(), [], { json: true });
    const lines = screen.text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { type: string });
    expect(lines.at(-1)).toEqual({ type: "result", ...fakeResult });
    expect(lines.some((line) => line.type === "metrics")).toBe(true);
  });

  test("one Ctrl-C stops it cleanly, and a stopped run is not done", async () => {
    const parts = fakeParts({
      train: (_params, { signal }) =>
        new Promise((resolve) =>
          signal?.addEventListener("abort", () => resolve({ ...fakeResult, stopped: true })),
        ),
    });
    const { code, screen } = await run(parts, [], {}, async (screen) => {
      await expect.poll(() => parts.calls.length).toBe(2);
      screen.interrupt();
    });
    expect(code).toBe(1);
    expect(screen.text).toContain("Ctrl-C again leaves at once");
    expect(screen.text).toContain("stopped: 2 epochs");
    expect(screen.left).toBe(false);
    expect(parts.open.size).toBe(0);
  });

  test("a second Ctrl-C leaves at once", async () => {
    let finish: (value: unknown) => void = () => {};
    const parts = fakeParts({
      train: () =>
        new Promise((resolve) => {
          finish = resolve;
        }),
    });
    const { screen } = await run(parts, [], {}, async (screen) => {
      await expect.poll(() => parts.calls.length).toBe(2);
      screen.interrupt();
      screen.interrupt();
      finish(fakeResult);
    });
    expect(screen.left).toBe(true);
  });
});

describe("check", () => {
  test("says what it looks at and that all is well, and trains nothing", async () => {
    const cwd = await tempProject();
    const parts = fakeParts();
    let text = "";
    const output = { write: (part: string) => (text += part) };
    expect(await checkCommand(["my.yaml"], {}, { output, parts, cwd })).toBe(0);
    expect(text).toContain("loading the hooks");
    expect(text).toMatch(/ok: .*\n$/);
    expect(parts.calls.map((call) => call.method)).toEqual(["check"]);
  });

  test("rejects with what is wrong", async () => {
    const cwd = await tempProject();
    const output = { write: () => {} };
    const streams = { output, parts: fakeParts(), cwd };
    const check = checkCommand(["my.yaml", "genenv.alpha=3"], {}, streams);
    expect(await rejectionOf(check)).toMatchObject({ code: "bad-value" });
  });
});

test("setup makes the environment and the default model", async () => {
  let text = "";
  const output = { write: (part: string) => (text += part) };
  expect(await setupCommand({ output, parts: fakeParts() })).toBe(0);
  expect(text).toContain("ready: the Python environment is /fake");
});

describe("arguments", () => {
  test("the first one without = is the configuration", () => {
    expect(splitArguments(["a.yaml", "x=1", "~y"])).toEqual({
      config: "a.yaml",
      overrides: ["x=1", "~y"],
    });
  });

  test("overrides alone take the default configuration", () => {
    for (const args of [[], ["x=1"], ["+x=1"], ["~x"]]) {
      expect(splitArguments(args)).toEqual({ config: null, overrides: args });
    }
  });
});

describe("exit codes", () => {
  test("2 is for what the user can mend before a run, 1 for the rest", () => {
    expect(exitCodeOf(new ConfigError("x", { code: "unknown-key" }))).toBe(2);
    expect(exitCodeOf(new HookError("x", { code: "hook-missing" }))).toBe(2);
    expect(exitCodeOf(new PythonError("x", { code: "python-version" }))).toBe(2);
    expect(exitCodeOf(new HookError("x", { code: "hook-failures" }))).toBe(1);
    expect(exitCodeOf(new PythonError("x", { code: "python-died" }))).toBe(1);
    expect(exitCodeOf(new Error("x"))).toBe(1);
  });

  test("an error is shown on stderr, or as JSON on stdout", async () => {
    const error = new ConfigError("bad \u001b[31mthing", { code: "c", hint: "mend it" });
    const stderr = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    const stdout = vi.spyOn(process.stdout, "write").mockReturnValue(true);
    try {
      await runAction({}, () => Promise.reject(error));
      expect(stderr).toHaveBeenCalledWith("error: bad thing\n  next: mend it\n");
      expect(process.exitCode).toBe(2);
      await runAction({ json: true }, () => Promise.reject(error));
      expect(JSON.parse(String(stdout.mock.calls[0]?.[0]))).toMatchObject({
        type: "error",
        code: "c",
        hint: "mend it",
      });
    } finally {
      process.exitCode = undefined;
      vi.restoreAllMocks();
    }
  });
});
