import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Env } from "../../bridge/python/paths.js";
import type { Pins } from "../../bridge/python/pins.js";

export interface FakeMachine {
  dir: string;
  env: Env;
  pins: Pins;
  /** Each call of the fake uv, as a line. */
  uvLog: string;
}

/**
 * A machine of shell scripts: `python3.11` and `uv` on a PATH of their own, and two pins. The fake uv makes folders as the
 * real one does. Its pip install fails while the file `uv-fails` is there, with that file's text on
 * stderr; while `no-torch` is there, only without --torch-backend.
 */
export function fakeMachine(): FakeMachine {
  const dir = mkdtempSync(join(tmpdir(), "genenv-test-"));
  const bin = join(dir, "bin");
  mkdirSync(bin);
  const lockFile = join(dir, "cpu.lock");
  writeFileSync(lockFile, "left-pad==1.0\nTorch_Like==2.0+cpu\n");
  const uvLog = join(dir, "uv.log");
  writeScript(join(bin, "python3.11"), fakePython("3.11.7", join(bin, "python3.11")));
  writeScript(join(bin, "uv"), fakeUv(dir, uvLog));
  return {
    dir,
    uvLog,
    env: { PATH: `${bin}:/usr/bin:/bin`, HOME: dir, XDG_CACHE_HOME: join(dir, "cache") },
    pins: {
      lockFile,
      packages: [
        { name: "left-pad", version: "1.0" },
        { name: "Torch_Like", version: "2.0+cpu" },
      ],
      aliases: [{ name: "alias", version: "3.0+cpu" }],
      torch: "cpu",
      firstImports: [],
      name: "Python environment",
      installedGb: 3.6,
      neededGb: 6,
    },
  };
}

export function writeScript(file: string, body: string): void {
  writeFileSync(file, `#!/bin/sh\n${body}\n`);
  chmodSync(file, 0o755);
}

/** A Python that tells its version, has no pip settings, and whose `pip install` runs `onPip`. */
export function fakePython(version: string, path: string, onPip = "exit 1"): string {
  return `
case "$*" in
  *"pip config"*) exit 0;;
  *"pip install"*) ${onPip};;
  *) echo ${path}; echo ${version};;
esac`;
}

export function fakeUv(dir: string, log: string): string {
  return `
echo "$* UV_FIND_LINKS=$UV_FIND_LINKS" >> ${log}
case "$1" in
  --version) echo "uv 0.13.9 (fake)";;
  venv)
    for last; do :; done
    mkdir -p "$last/bin" "$last/lib/python3.11/site-packages"
    : > "$last/bin/python";;
  pip)
    [ -e ${dir}/uv-slow ] && sleep 0.3
    [ -e ${dir}/uv-fails ] && { cat ${dir}/uv-fails >&2; exit 1; }
    case "$*" in
      *torch-backend*) ;;
      *) [ -e ${dir}/no-torch ] && { cat ${dir}/no-torch >&2; exit 1; };;
    esac
    site="$(dirname "$(dirname "$5")")/lib/python3.11/site-packages"
    mkdir -p "$site/left_pad-1.0.dist-info" "$site/torch_like-2.0+cpu.dist-info"
    echo "Installed 2 packages in 1ms" >&2;;
esac`;
}
