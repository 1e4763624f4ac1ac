import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { completeCommand } from "../../../sdk/cli/complete-command.js";
import { createProgram } from "../../../sdk/cli/program.js";
import { rejectionOf, tempFolder } from "../temp.js";

/** What could stand in the last word's place, and the scripts' directive behind it. */
async function candidates(...words: string[]): Promise<{ values: string[]; directive: string }> {
  return candidatesIn(tempFolder(), ...words);
}

async function candidatesIn(
  cwd: string,
  ...words: string[]
): Promise<{ values: string[]; directive: string }> {
  const lines: string[] = [];
  const write = (text: string): number => lines.push(...text.trimEnd().split("\n"));
  // The library prints by console.log.
  const log = vi.spyOn(console, "log").mockImplementation((text: string) => void write(text));
  try {
    expect(await completeCommand(createProgram(), words, { output: { write }, cwd })).toBe(0);
  } finally {
    log.mockRestore();
  }
  const directive = lines.pop() ?? "";
  return { values: lines.map((line) => line.split("\t")[0] ?? ""), directive };
}

describe("what could stand in the last word's place", () => {
  test("is a command at first", async () => {
    const { values, directive } = await candidates("");
    expect(values).toEqual(
      expect.arrayContaining(["run", "check", "report", "notebook", "doctor"]),
    );
    expect(directive).toBe(":4");
    expect((await candidates("rep")).values).toEqual(["report"]);
  });

  test("is a command's own option", async () => {
    expect((await candidates("run", "--n")).values).toEqual(["--name"]);
    expect((await candidates("report", "--o")).values.sort()).toEqual(["--open", "--out"]);
  });

  test("is an option's choice, a template, or a model", async () => {
    expect((await candidates("eval", "--device", "c")).values).toEqual(["cpu", "cuda"]);
    expect((await candidates("init", "--template", "w")).values).toEqual(["web-actions"]);
    expect((await candidates("run", "--model", "b")).values).toEqual([
      "builtin:smollm2-135m",
      "builtin:tiny",
    ]);
  });

  test("is a run of this folder", async () => {
    const cwd = tempFolder({ "runs/first/metrics.jsonl": "", "runs/notes/readme.txt": "" });
    expect(await candidatesIn(cwd, "logs", "")).toEqual({ values: ["first"], directive: ":0" });
    expect((await candidatesIn(cwd, "generate", "--model", "runs")).values).toEqual(["runs/first"]);
  });

  test("is a file where one is wanted: the shell's own completion", async () => {
    const none = { values: [], directive: ":0" };
    expect(await candidates("run", "")).toEqual(none);
    expect(await candidates("run", "./conf")).toEqual(none);
    expect(await candidates("data", "tra")).toEqual(none);
    expect(await candidates("report", "first", "--out", "")).toEqual(none);
  });

  test("is a key of the configuration, level by level and with no blank behind", async () => {
    expect(await candidates("run", "genenv.hooks.rew")).toEqual({
      values: ["genenv.hooks.reward="],
      directive: ":2",
    });
    expect((await candidates("check", "my.yaml", "actor_rollout_ref.act")).values).toEqual([
      "actor_rollout_ref.actor.",
    ]);
    expect((await candidates("run", "genenv.alpha=")).values).toEqual([]);
  });

  test("is nothing for a command that nobody knows", async () => {
    expect((await candidates("nothing", "")).values).toEqual([]);
  });
});

test("refuses a shell that it has no script for", async () => {
  const error = await rejectionOf(
    completeCommand(createProgram(), "tcsh", { output: { write() {} } }),
  );
  expect(error.message).toBe('there is no completion for the shell "tcsh"');
  expect(error).toMatchObject({ code: "bad-option", hint: "the shells are bash, zsh, fish" });
});

describe("the scripts", () => {
  let bin: string;
  const main = join(import.meta.dirname, "../../../dist/sdk/cli/main.js");
  const has = (shell: string): boolean => spawnSync(shell, ["--version"]).status === 0;
  const scriptOf = (shell: string): string =>
    execFileSync(process.execPath, [main, "complete", shell], { encoding: "utf8" });

  beforeAll(() => {
    bin = join(import.meta.dirname, "../../../.genenv", `complete-${process.pid}`);
    mkdirSync(bin, { recursive: true });
    writeFileSync(join(bin, "genenv"), `#!/bin/sh\nexec ${process.execPath} ${main} "$@"\n`, {
      mode: 0o755,
    });
  });

  afterAll(() => rmSync(bin, { recursive: true, force: true }));

  test("of bash completes a line", { timeout: 60_000 }, () => {
    const line = (...words: string[]): string => {
      const program = [
        // Of the package bash-completion, which need not be installed here: the words as they are.
        `_get_comp_words_by_ref() { words=("\${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur="\${words[cword]}"; }`,
        "compopt() { :; }",
        "source <(genenv complete bash)",
        `COMP_WORDS=(genenv ${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length}`,
        "__genenv_complete",
        `echo "\${COMPREPLY[*]}"`,
      ];
      return execFileSync("bash", ["-c", program.join("\n")], {
        encoding: "utf8",
        env: { ...process.env, PATH: `${bin}:${process.env.PATH}` },
      }).trim();
    };
    expect(line("rep")).toBe("report");
    expect(line("run", "genenv.hooks.rew")).toBe("genenv.hooks.reward=");
    expect(line("init", "--template", "to")).toBe("tool-calling");
  });

  test("of fish completes a line, where there is a fish", { timeout: 60_000 }, ({ skip }) => {
    if (!has("fish")) skip();
    const line = (words: string): string => {
      const program = `genenv complete fish | source; complete -C"genenv ${words}"`;
      const env = { ...process.env, PATH: `${bin}:${process.env.PATH}`, HOME: tempFolder() };
      return execFileSync("fish", ["-c", program], { encoding: "utf8", env }).trim();
    };
    expect(line("rep")).toBe("report\twrite a run's report: one page, all inside");
    expect(line("run genenv.hooks.rew")).toBe("genenv.hooks.reward=\ta key of the configuration");
    expect(line("init --template to")).toMatch(/^tool-calling\t/);
  });

  test.each([
    ["bash", ["-n"]],
    ["zsh", ["-n"]],
    ["fish", ["--no-execute"]],
  ])(
    "of %s names genenv, and is one that the shell can read, where there is such a shell",
    (shell, args) => {
      const script = scriptOf(shell);
      expect(script).toContain("genenv complete --");
      if (!has(shell)) return;
      const file = join(bin, `script.${shell}`);
      writeFileSync(file, script);
      expect(spawnSync(shell, [...args, file], { encoding: "utf8" })).toMatchObject({
        status: 0,
        stderr: "",
      });
    },
  );
});
