/** What a run may leave on a machine: processes, shared memory, and files of its own in the temporary folder. */
import { readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";

export interface Leftovers {
  processes: Set<string>;
  files: Set<string>;
}

/** Our processes run Python, Ray or Node with one of these in their command line. */
const ours = /genenv|raylet|gcs_server|ray::|default_worker\.py|pythonia|vllm/i;

export function snapshot(): Leftovers {
  return { processes: new Set(processes()), files: new Set(files()) };
}

/** What is there now and was not there before. */
export function leftovers(before: Leftovers): string[] {
  const now = snapshot();
  return [
    ...[...now.processes].filter((name) => !before.processes.has(name)),
    ...[...now.files].filter((name) => !before.files.has(name)),
  ];
}

function processes(): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      const command = commandOf(pid);
      return command !== null && ours.test(command) ? [`process ${pid}: ${command}`] : [];
    });
}

/** A process's command line; null for one that is gone, or is a zombie that waits for its parent. */
function commandOf(pid: string): string | null {
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
    return command === "" ? null : command;
  } catch {
    return null;
  }
}

function files(): string[] {
  const shared = readdirSync("/dev/shm").filter((name) =>
    /^(verl|plasma|psm_|genenv|sem\.mp)/.test(name),
  );
  const temporary = readdirSync(tmpdir()).filter((name) =>
    /^(genenv-(?!stack|test)|ray|rl-colocate)/.test(name),
  );
  return [
    ...shared.map((name) => `/dev/shm/${name}`),
    ...temporary.map((name) => `${tmpdir()}/${name}`),
  ];
}
