import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";

export type Env = Readonly<Record<string, string | undefined>>;

/** The folder of the installed genenv package, whether this file runs from source or from dist. */
export function packageRoot(): string {
  let dir = dirname(fileURLToPath(import.meta.url));
  while (!isPackageRoot(dir)) {
    const parent = dirname(dir);
    if (parent === dir) throw new Error(`no genenv package.json above ${import.meta.url}`);
    dir = parent;
  }
  return dir;
}

/** The folder that goes on PYTHONPATH: it holds the Python package `genenv`. */
export function pythonPackageDir(): string {
  return join(packageRoot(), "py");
}

/** genenv's folder in the user's cache directory (XDG_CACHE_HOME, else ~/.cache). */
export function cacheDir(env: Env = process.env): string {
  const xdg = env.XDG_CACHE_HOME;
  // The XDG specification: a relative path here is to be ignored.
  const base = xdg && isAbsolute(xdg) ? xdg : join(env.HOME || homedir(), ".cache");
  return join(base, "genenv");
}

function isPackageRoot(dir: string): boolean {
  const file = join(dir, "package.json");
  if (!existsSync(file)) return false;
  const { name } = JSON.parse(readFileSync(file, "utf8")) as { name?: unknown };
  return name === "genenv";
}
