import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  jupyterArgs,
  type NotebookArguments,
  notebookCommand,
} from "../../../sdk/cli/notebook-command.js";
import { rejectionOf, tempFolder } from "../temp.js";

interface Ran {
  code: number;
  text: string;
  started: string[][];
}

/** The command with a Jupyter that ends at once with `exit`. */
async function notebook(
  folder: string | undefined,
  options: NotebookArguments,
  { cwd = tempFolder(), exit = 0 } = {},
): Promise<Ran> {
  let text = "";
  const started: string[][] = [];
  const output = {
    write: (part: string) => {
      text += part;
    },
  };
  const parts = {
    ensureNotebook: async () => ({ python: "/made/bin/python", dir: "/made" }),
    start: async (file: string, args: readonly string[]) => {
      started.push([file, ...args]);
      return exit;
    },
  };
  const code = await notebookCommand(folder, options, { output, parts, cwd });
  return { code, text, started };
}

describe("genenv notebook", () => {
  test("starts Jupyter in the folder, on this machine's own address alone", async () => {
    const cwd = tempFolder();
    const { code, started } = await notebook("books", {}, { cwd });
    expect(code).toBe(0);
    const [command = []] = started;
    expect(command.slice(0, 4)).toEqual([
      "/made/bin/python",
      "-m",
      "jupyterlab",
      "--ServerApp.ip=127.0.0.1",
    ]);
    expect(command).toContain(`--ServerApp.root_dir=${join(cwd, "books")}`);
    expect(command.join(" ")).not.toMatch(/token|password|allow_remote/);
    expect(command).not.toContain("--no-browser");
  });

  test("takes one port and no other, and opens no browser, where that is asked", () => {
    const args = jupyterArgs({ root: "/p", port: 9000, browser: false });
    expect(args).toEqual(
      expect.arrayContaining([
        "--ServerApp.port=9000",
        "--ServerApp.port_retries=0",
        "--no-browser",
      ]),
    );
  });

  test("asks no server for updates or news", () => {
    const args = jupyterArgs({ root: "/p", port: null, browser: true });
    expect(args).toContain("--LabApp.news_url=None");
    expect(args).toContain("--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate");
  });

  test("with --setup starts nothing, and with --json says where everything is", async () => {
    const { code, started, text } = await notebook(undefined, { setup: true, json: true });
    expect({ code, started }).toEqual({ code: 0, started: [] });
    expect(JSON.parse(text)).toEqual({ python: "/made/bin/python", dir: "/made" });
  });

  test("copies the examples first, and never over a file", async () => {
    const cwd = tempFolder();
    await notebook("books", { examples: true }, { cwd });
    expect(readdirSync(join(cwd, "books")).sort()).toEqual([
      "first-reward.ipynb",
      "responses.jsonl",
      "run-live.ipynb",
    ]);
    const error = await rejectionOf(notebook("books", { examples: true }, { cwd }));
    expect(error.message).toMatch(/\.ipynb is there already$/);
    expect(error).toMatchObject({ code: "file-exists" });
  });

  test("refuses what is no port, before anything is installed", async () => {
    for (const port of ["0", "70000", "http", "80.5"]) {
      const error = await rejectionOf(notebook(undefined, { port }));
      expect(error.message).toBe(`--port ${JSON.stringify(port)} is no port`);
      expect(error).toMatchObject({ code: "bad-option", hint: "give a number from 1 to 65535" });
    }
  });

  test("ends with 1 where Jupyter failed", async () => {
    expect((await notebook(undefined, {}, { exit: 3 })).code).toBe(1);
  });
});

test("the example notebooks hold no outputs, and ask for the TypeScript kernel", () => {
  const folder = "examples/notebooks";
  const names = readdirSync(folder).filter((name) => name.endsWith(".ipynb"));
  expect(names.sort()).toEqual(["first-reward.ipynb", "run-live.ipynb"]);
  for (const name of names) {
    const { cells, metadata } = JSON.parse(readFileSync(join(folder, name), "utf8"));
    expect(metadata.kernelspec.name).toBe("tslab");
    const code = cells.filter((cell: { cell_type: string }) => cell.cell_type === "code");
    expect(code.length).toBeGreaterThan(4);
    for (const { outputs, execution_count: count } of code) {
      expect({ outputs, count }).toEqual({ outputs: [], count: null });
    }
  }
  expect(existsSync(join(folder, "responses.jsonl"))).toBe(true);
});
