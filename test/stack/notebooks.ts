/** Executes the example notebooks as `jupyter nbconvert --execute` does, in a project of their own. */
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { parseHTML } from "linkedom/worker";
import { ensureNotebook } from "../../bridge/python/notebook.js";

const root = join(import.meta.dirname, "..", "..");

export interface NotebookProject {
  folder: string;
  /** Runs the notebook environment's Python in the folder. */
  python(args: readonly string[]): Promise<string>;
  remove(): void;
}

/** A folder with the example notebooks, in which `genenv` and `zod` are installed. */
export async function notebookProject(): Promise<NotebookProject> {
  const { python } = await ensureNotebook();
  const folder = mkdtempSync(join(tmpdir(), "genenv-notebook-"));
  cpSync(join(root, "examples", "notebooks"), folder, { recursive: true });
  const modules = join(folder, "node_modules");
  mkdirSync(modules);
  symlinkSync(root, join(modules, "genenv"));
  symlinkSync(join(root, "node_modules", "zod"), join(modules, "zod"));
  return {
    folder,
    python: async (args) => (await promisify(execFile)(python, args, { cwd: folder })).stdout,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

interface Output {
  output_type: string;
  text?: string | string[];
  data?: Record<string, string | string[]>;
}

/** The outputs of each code cell of an executed notebook: displays as HTML, streams as text. */
export function outputsOf(file: string): string[][] {
  const { cells } = JSON.parse(readFileSync(file, "utf8")) as {
    cells: { cell_type: string; outputs: Output[] }[];
  };
  const joined = (text: string | string[] = ""): string => [text].flat().join("");
  return cells
    .filter((cell) => cell.cell_type === "code")
    .map(({ outputs }) => outputs.map(({ text, data }) => joined(data?.["text/html"] ?? text)));
}

/** Executes a notebook in place; throws with the cell's own words where one fails. */
export async function execute(project: NotebookProject, name: string): Promise<string[][]> {
  const args = ["--to", "notebook", "--execute", "--inplace", "--ExecutePreprocessor.timeout=600"];
  await project.python(["-m", "nbconvert", ...args, name]);
  return outputsOf(join(project.folder, name));
}

/** The cells of a table's body, row by row. */
export function rowsOf(html: string): string[][] {
  const { document } = parseHTML(`<html><body>${html}</body></html>`);
  return [...document.querySelectorAll("tbody tr")].map((row) =>
    [...row.querySelectorAll("td")].map((cell) => cell.textContent ?? ""),
  );
}
