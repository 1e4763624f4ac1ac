/** A tiny real run that something happens to: one process is killed, or the whole of it is told to stop. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { tinyOptions } from "./tiny-run/options.js";

const root = join(import.meta.dirname, "..", "..");
const cli = join(root, "dist", "sdk", "cli", "main.js");

export const tinyRun = [
  "run",
  "--json",
  ...tinyOptions,
  "trainer.save_freq=1",
  "trainer.max_actor_ckpt_to_keep=2",
  "trainer.val_before_train=False",
];

/** A process of the run's, by what `ps` shows of it. */
export const processes = {
  control: /pythonia\/interface/,
  "fork server": /genenv\.forkserver\.server/,
  driver: /genenv: python -m genenv\.role\.driver|python\S* -m genenv\.role\.driver/,
  trainer: /^ray::WorkerDict/,
  "vLLM's server": /^ray::vLLMHttpServer/,
  "vLLM's engine": /^VLLM::EngineCore/,
  "agent loop": /^ray::AgentLoopWorker/,
  "transfer queue": /^ray::TransferQueueController/,
  raylet: /\/raylet\/raylet /,
  "Ray's head": /\/gcs_server /,
  "hook host": /host-main/,
} as const;

export type Victim = keyof typeof processes;

export interface Event {
  type: string;
  epoch?: number;
  phase?: string;
  detail?: string | null;
  code?: string;
  message?: string;
  hint?: string | null;
}

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  events: Event[];
  /** The error that it ended with, or null. */
  error: Event | null;
  /** From the blow to its end. */
  seconds: number;
  /** What is still there 30 s after the blow, or as soon as nothing is. */
  left: string[];
  checkpoints: string[];
}

export interface Blow {
  /** When to strike; the default is in the agent's rollout of the second epoch. */
  when?: (event: Event) => boolean;
  strike: (child: ChildProcess) => void;
  overrides?: string[];
}

const inSecondRollout = (event: Event): boolean =>
  event.type === "phase" && event.epoch === 2 && event.phase === "agent-rollout";

/** Runs until it ends, striking once; it never takes longer than `limitMs`. */
export async function struck(blow: Blow, limitMs = 400_000): Promise<Ended> {
  const runs = mkdtempSync(join(tmpdir(), "genenv-stack-"));
  const dir = join(runs, "run");
  // A temporary folder of its own, with a short name: what is in it at the end is the run's, and nobody else's.
  const temporary = mkdtempSync("/tmp/gs-");
  const shared = new Set(segments());
  const family = new Set<string>();
  try {
    const args = [...tinyRun, "trainer.total_epochs=500", ...(blow.overrides ?? [])];
    const child = spawn(process.execPath, [cli, ...args, `trainer.default_local_dir=${dir}`], {
      cwd: root,
      env: { ...process.env, TMPDIR: temporary },
    });
    const limit = setTimeout(() => child.kill("SIGKILL"), limitMs);
    const events: Event[] = [];
    let struckMs: number | null = null;
    for await (const line of linesOf(child)) {
      const event = JSON.parse(line) as Event;
      events.push(event);
      if (struckMs !== null || !(blow.when ?? inSecondRollout)(event)) continue;
      struckMs = Date.now();
      for (const pid of familyOf(child)) family.add(nameOf(pid));
      blow.strike(child);
    }
    const { code, signal } = await exitOf(child);
    clearTimeout(limit);
    const since = struckMs ?? Date.now();
    return {
      code,
      signal,
      events,
      error: events.find(({ type }) => type === "error") ?? null,
      seconds: (Date.now() - since) / 1000,
      left: await leftAfter({ family, temporary, shared }, since + 30_000),
      checkpoints: existsSync(join(dir, "checkpoints"))
        ? readdirSync(join(dir, "checkpoints"))
        : [],
    };
  } finally {
    for (const folder of [runs, temporary]) rmSync(folder, { recursive: true, force: true });
  }
}

export async function* linesOf(child: ChildProcess): AsyncIterable<string> {
  let rest = "";
  for await (const chunk of child.stdout ?? []) {
    const lines = (rest + String(chunk)).split("\n");
    rest = lines.pop() ?? "";
    yield* lines.filter((line) => line !== "");
  }
}

function exitOf(
  child: ChildProcess,
): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  const { exitCode: code, signalCode: signal } = child;
  if (code !== null || signal !== null) return Promise.resolve({ code, signal });
  return new Promise((resolve) =>
    child.once("exit", (exitCode, signalCode) => resolve({ code: exitCode, signal: signalCode })),
  );
}

interface Traces {
  /** Its processes when it was struck. */
  family: ReadonlySet<string>;
  /** Its temporary folder. */
  temporary: string;
  /** Shared memory that was there before. */
  shared: ReadonlySet<string>;
}

async function leftAfter(traces: Traces, deadlineMs: number): Promise<string[]> {
  while (leftOf(traces).length > 0 && Date.now() < deadlineMs) await sleep(200);
  return leftOf(traces);
}

function leftOf({ family, temporary, shared }: Traces): string[] {
  const mentions = (pid: number): boolean =>
    commandOf(pid).includes(temporary) || read(`/proc/${pid}/environ`).includes(temporary);
  return [
    ...allPids()
      .filter((pid) => commandOf(pid) !== "" && (family.has(nameOf(pid)) || mentions(pid)))
      .map((pid) => `process ${pid}: ${commandOf(pid)}`),
    ...readdirSync(temporary).map((name) => join(temporary, name)),
    ...segments().filter((name) => !shared.has(name)),
  ];
}

/** Shared memory of the kinds that a run makes. */
export const segments = (): string[] =>
  readdirSync("/dev/shm")
    .filter((name) => /^(verl|plasma|psm_|genenv|sem\.mp)/.test(name))
    .map((name) => `/dev/shm/${name}`);

/** Kills one process of the run, of that kind. */
export function killOne(child: ChildProcess, victim: Victim): void {
  const found = familyOf(child).find((pid) => processes[victim].test(commandOf(pid)));
  if (found === undefined) throw new Error(`the run has no process of the kind "${victim}"`);
  process.kill(found, "SIGKILL");
}

/** Kills the run's process and all below it, at one moment. */
export function killAll(child: ChildProcess): void {
  for (const pid of [child.pid as number, ...familyOf(child)]) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It went with its parent.
    }
  }
}

/** Command lines of the processes below one. */
export const commandsBelow = (child: ChildProcess): string[] => familyOf(child).map(commandOf);

/** The processes below the run's own. */
export function familyOf(child: ChildProcess): number[] {
  const parents = new Map(allPids().map((pid) => [pid, Number(statOf(pid)[1]) || null]));
  const below = (of: number): number[] =>
    [...parents].filter(([, parent]) => parent === of).flatMap(([own]) => [own, ...below(own)]);
  return below(child.pid as number);
}

export const commandOf = (pid: number): string =>
  read(`/proc/${pid}/cmdline`).replaceAll("\0", " ");

/** A process, whatever else gets its number later. */
export const nameOf = (pid: number): string => `${pid} ${statOf(pid)[19]}`;

/** The fields of /proc/PID/stat after the program's name: state, parent, and so on. */
function statOf(pid: number): string[] {
  const stat = read(`/proc/${pid}/stat`);
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

const allPids = (): number[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    // Its process has just ended.
    return "";
  }
}
