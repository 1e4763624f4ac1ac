import { type ChildProcess, spawn } from "node:child_process";
import { copyFileSync, constants as fsConstants, mkdirSync, readdirSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { ConfigError } from "../../bridge/errors.js";
import { hasErrorCode } from "../../bridge/python/error-code.js";
import { ensureNotebook } from "../../bridge/python/notebook.js";
import { type Env, packageRoot } from "../../bridge/python/paths.js";
import type { PythonEnv } from "../../bridge/python/setup.js";
import { exitCode } from "./exit.js";
import type { Output } from "./progress.js";

export interface NotebookArguments {
  port?: string;
  /** commander's --no-browser. */
  browser?: boolean;
  examples?: boolean;
  setup?: boolean;
  debug?: boolean;
  json?: boolean;
}

export interface NotebookParts {
  ensureNotebook(options: { onProgress: (line: string) => void }): Promise<PythonEnv>;
  /** Starts Jupyter in this terminal; gives its exit code when it ends. */
  start(file: string, args: readonly string[], env: Env): Promise<number>;
}

const realParts: NotebookParts = { ensureNotebook, start };

/** `genenv notebook`: makes Jupyter with the TypeScript kernel ready, and starts it on this machine's own address. */
export async function notebookCommand(
  folder: string | undefined,
  options: NotebookArguments,
  streams: { output: Output; parts?: NotebookParts; cwd?: string },
): Promise<number> {
  const { output, parts = realParts, cwd = process.cwd() } = streams;
  const say = (line: string): void => {
    if (!options.json) output.write(`  ${line}\n`);
  };
  const root = resolve(cwd, folder ?? ".");
  const port = toPort(options.port);
  const copied = options.examples ? copyExamples(root) : [];
  for (const file of copied) say(`wrote ${relative(cwd, file)}`);
  const { python, dir } = await parts.ensureNotebook({ onProgress: say });
  if (options.json) output.write(`${JSON.stringify({ python, dir })}\n`);
  if (options.setup) {
    say(`ready: the notebook environment is ${dir}`);
    return exitCode.done;
  }
  const args = jupyterArgs({ root, port, browser: options.browser ?? true });
  const code = await parts.start(python, args, process.env);
  return code === 0 ? exitCode.done : exitCode.failed;
}

/** What Jupyter is started with: this machine's own address only, its token on, and nothing fetched from elsewhere. */
export function jupyterArgs(options: {
  root: string;
  port: number | null;
  browser: boolean;
}): string[] {
  const { root, port, browser } = options;
  const isRoot = process.getuid?.() === 0;
  return [
    "-m",
    "jupyterlab",
    "--ServerApp.ip=127.0.0.1",
    `--ServerApp.root_dir=${root}`,
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    "--LabApp.news_url=None",
    ...(port === null ? [] : [`--ServerApp.port=${port}`, "--ServerApp.port_retries=0"]),
    ...(browser ? [] : ["--no-browser"]),
    // In a container everybody is root, and Jupyter then asks for this word.
    ...(isRoot ? ["--allow-root"] : []),
  ];
}

function toPort(text: string | undefined): number | null {
  if (text === undefined) return null;
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new ConfigError(`--port ${JSON.stringify(text)} is no port`, {
    code: "bad-option",
    place: { at: "--port" },
    hint: "give a number from 1 to 65535",
  });
}

/** Copies the package's notebooks into the folder; nothing is written over. */
function copyExamples(folder: string): string[] {
  const source = join(packageRoot(), "examples/notebooks");
  mkdirSync(folder, { recursive: true });
  const names = readdirSync(source).filter((name) => /\.(ipynb|jsonl)$/.test(name));
  return names.map((name) => {
    const file = join(folder, name);
    try {
      copyFileSync(join(source, name), file, fsConstants.COPYFILE_EXCL);
    } catch (error) {
      if (!hasErrorCode(error, "EEXIST")) throw error;
      throw new ConfigError(`${file} is there already`, {
        code: "file-exists",
        place: { file },
        hint: "give another folder, or leave --examples out: nothing is written over",
      });
    }
    return file;
  });
}

async function start(file: string, args: readonly string[], env: Env): Promise<number> {
  const child: ChildProcess = spawn(file, args, {
    env: env as NodeJS.ProcessEnv,
    stdio: "inherit",
  });
  // A terminal sends Ctrl-C to Jupyter too, which asks what to do: it is the one to end first.
  const ignore = (): void => {};
  const pass = (): void => void child.kill("SIGTERM");
  process.on("SIGINT", ignore).on("SIGTERM", pass);
  try {
    return await new Promise((done, fail) => {
      child.on("error", fail).on("close", (code) => done(code ?? 1));
    });
  } finally {
    process.off("SIGINT", ignore).off("SIGTERM", pass);
  }
}
