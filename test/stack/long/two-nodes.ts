/** A Ray cluster of two nodes on this machine: a network namespace each, joined by a veth pair. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

const [head, second] = ["genenv-test-a", "genenv-test-b"];
const [headAddress, secondAddress] = ["10.213.77.1", "10.213.77.2"];
const port = 6399;

export interface TwoNodes {
  /** genenv.ray_address. */
  address: string;
  secondAddress: string;
  /** A folder that is another one on the second node. */
  unshared: string;
  /** What Ray's token authentication wants of everybody. */
  env: Record<string, string>;
  /** A command and its arguments that run on the head. */
  onHead(command: string[]): string[];
  /** What runs on the second node: command lines. */
  processesOfSecond(): string[];
  startSecond(): void;
  /** Every process of the second node, at once. */
  killSecond(): void;
  stop(): void;
}

/** Why namespaces can't be made here; null where they can. */
export function whyNoNamespaces(): string | null {
  if (process.platform !== "linux") return "network namespaces are Linux's";
  try {
    ip("netns", "add", "genenv-test-try");
    ip("netns", "exec", "genenv-test-try", "mount", "-t", "tmpfs", "none", "/mnt");
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return `network namespaces can't be made here: ${text.split("\n").slice(-2).join(" ")}`;
  } finally {
    attempt(() => ip("netns", "del", "genenv-test-try"));
  }
  return null;
}

/** `python` is the environment's, whose Ray is started; each node has one slot for a role. */
export function startTwoNodes(python: string): TwoNodes {
  const folder = mkdtempSync("/tmp/genenv-test-ray-");
  const [headFolder, secondFolder] = [join(folder, "a"), join(folder, "b")];
  const unshared = join(folder, "unshared");
  for (const dir of [headFolder, secondFolder, unshared]) mkdirSync(dir);
  const env = {
    RAY_AUTH_MODE: "token",
    RAY_AUTH_TOKEN: "genenv".padEnd(64, "0"),
    RAY_USAGE_STATS_ENABLED: "0",
    // Only a cluster of the test's own is ever meant.
    RAY_ADDRESS: `${headAddress}:${port}`,
  };
  const ray = join(dirname(python), "ray");
  const resources = ["--num-cpus=64", "--num-gpus=1", "--object-store-memory=200000000"];
  const stop = (): void => {
    for (const name of [second, head]) attempt(() => killAll(name));
    for (const name of [second, head]) attempt(() => ip("netns", "del", name));
    rmSync(folder, { recursive: true, force: true });
  };
  const startSecond = (): void => {
    // Ray's session folder has one name on all nodes, and each needs its own.
    const mounted = `mount --bind ${secondFolder} ${headFolder} && mount -t tmpfs none ${unshared} && exec "$@"`;
    const start = [
      ray,
      "start",
      `--address=${headAddress}:${port}`,
      `--node-ip-address=${secondAddress}`,
    ];
    run(["ip", "netns", "exec", second, "sh", "-c", mounted, "sh", ...start, ...resources], env);
  };
  try {
    connect();
    const start = [ray, "start", "--head", `--port=${port}`, `--node-ip-address=${headAddress}`];
    const own = [`--temp-dir=${headFolder}`, "--include-dashboard=false"];
    run(["ip", "netns", "exec", head, ...start, ...own, ...resources], env);
    startSecond();
  } catch (error) {
    stop();
    throw error;
  }
  return {
    address: `${headAddress}:${port}`,
    secondAddress,
    unshared,
    env,
    onHead: (command) => ["ip", "netns", "exec", head, ...command],
    processesOfSecond: () => pidsOf(second).map(commandOf),
    startSecond,
    killSecond: () => killAll(second),
    stop,
  };
}

function connect(): void {
  for (const name of [head, second]) ip("netns", "add", name);
  ip(
    "link",
    "add",
    "gv-test-a",
    "netns",
    head,
    "type",
    "veth",
    "peer",
    "name",
    "gv-test-b",
    "netns",
    second,
  );
  for (const [name, link, address] of [
    [head, "gv-test-a", headAddress],
    [second, "gv-test-b", secondAddress],
  ] as const) {
    ip("-n", name, "addr", "add", `${address}/24`, "dev", link);
    ip("-n", name, "link", "set", "lo", "up");
    ip("-n", name, "link", "set", link, "up");
  }
}

const pidsOf = (name: string): number[] =>
  ip("netns", "pids", name).split("\n").filter(Boolean).map(Number);

function killAll(name: string): void {
  for (let tries = 0; tries < 50; tries++) {
    const pids = pidsOf(name);
    if (pids.length === 0) return;
    for (const pid of pids) attempt(() => process.kill(pid, "SIGKILL"));
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
  } catch {
    return "";
  }
}

const ip = (...args: string[]): string => run(["ip", ...args]);

function run([command, ...args]: string[], env: Record<string, string> = {}): string {
  const options = { encoding: "utf8", stdio: "pipe", env: { ...process.env, ...env } } as const;
  return execFileSync(command as string, args, options);
}

function attempt(work: () => unknown): void {
  try {
    work();
  } catch {
    // It was not there, or has gone by itself.
  }
}
