import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** A peer's virtual environment: its folder in the user's cache, and what pip installs into it. */
interface Peer {
  name: string;
  /** Arguments of `pip install`, one call each. */
  installs: string[][];
  /** A Python whose packages it sees and doesn't install again: the same torch on both sides. */
  beside?: string;
}

/** Makes a peer's virtual environment where there is none yet; returns its Python. */
export function peerPython(peer: Peer): string {
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache");
  const folder = join(cache, "genenv", "bench-peers", peer.name);
  const python = join(folder, "bin", "python");
  const done = join(folder, "installed");
  if (existsSync(done)) return python;
  mkdirSync(folder, { recursive: true });
  run(process.env.GENENV_BENCH_PYTHON ?? "python3", ["-m", "venv", folder]);
  if (peer.beside)
    writeFileSync(join(sitePackages(python), "beside.pth"), sitePackages(peer.beside));
  for (const install of peer.installs) run(python, ["-m", "pip", "install", "--quiet", ...install]);
  mkdirSync(done);
  return python;
}

const sitePackages = (python: string): string =>
  run(python, ["-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"]).trim();

/** Runs a program to its end, with text as its input; returns its output. */
export function run(command: string, args: string[], input = ""): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    input,
    encoding: "utf8",
    maxBuffer: 1 << 28,
  });
  if (status === 0) return stdout;
  throw new Error(`${command} ${args.join(" ")} failed: ${error?.message ?? stderr.slice(-2000)}`);
}

export const mathVerify: Peer = {
  name: "math-verify-0.9.0",
  installs: [["math-verify[antlr4_13_2]==0.9.0"]],
};

/** Without its dependencies, which are every vendor's client: the checker itself needs none of them. */
export const bfcl: Peer = {
  name: "bfcl-eval-2026.3.23",
  installs: [["--no-deps", "bfcl-eval==2026.3.23"]],
};

export const trl = (beside: string): Peer => ({
  name: "trl-1.16.0",
  installs: [["trl==1.16.0"]],
  beside,
});
