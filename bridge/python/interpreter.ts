import { PythonError } from "../errors.js";
import { runCommand } from "./command.js";
import type { Env } from "./paths.js";

export interface Interpreter {
  /** Absolute path (`sys.executable`, so that a pyenv shim is resolved). */
  path: string;
  /** Such as "3.11.7". */
  version: string;
  /** Such as "3.11". */
  minor: string;
}

export const supportedPythons: readonly string[] = ["3.11", "3.12"];

// 3.11 first: what is measured and tested the most.
const candidates = ["python3.11", "python3.12", "python3"];
const howToGet =
  "install Python 3.11 or 3.12 (Debian, Ubuntu: apt install python3 python3-venv), or name one with PYTHON=/path/to/python3.11";

/**
 * The first Python 3.11 or 3.12 found: the one PYTHON names, else python3.11, python3.12, python3 on PATH.
 * Throws PythonError "python-missing" or "python-version", naming what was found instead.
 */
export async function findPython(env: Env = process.env): Promise<Interpreter> {
  if (env.PYTHON) return named(env.PYTHON, env);
  const found: Interpreter[] = [];
  for (const name of candidates) {
    const python = await probe(name, env);
    if (python && isSupported(python)) return python;
    if (python) found.push(python);
  }
  if (found.length === 0) {
    throw new PythonError(`found no Python (looked for ${candidates.join(", ")} on PATH)`, {
      code: "python-missing",
      hint: howToGet,
    });
  }
  throw tooOldOrNew(found);
}

async function named(path: string, env: Env): Promise<Interpreter> {
  const python = await probe(path, env);
  if (!python) {
    throw new PythonError(`PYTHON=${path} is not a Python that starts`, {
      code: "python-missing",
      hint: howToGet,
    });
  }
  if (!isSupported(python)) throw tooOldOrNew([python]);
  return python;
}

function tooOldOrNew(found: readonly Interpreter[]): PythonError {
  const list = found.map((python) => `Python ${python.version} at ${python.path}`).join(", ");
  return new PythonError(`genenv needs Python 3.11 or 3.12 and found ${list}`, {
    code: "python-version",
    hint: howToGet,
  });
}

function isSupported(python: Interpreter): boolean {
  return supportedPythons.includes(python.minor);
}

const probeScript = "import sys; print(sys.executable); print('%d.%d.%d' % sys.version_info[:3])";

async function probe(name: string, env: Env): Promise<Interpreter | null> {
  const { code, stdout } = await runCommand(name, ["-c", probeScript], { env, timeoutMs: 20_000 });
  const [path, version] = stdout.split("\n");
  if (code !== 0 || !path || !version) return null;
  return { path, version, minor: version.split(".").slice(0, 2).join(".") };
}
