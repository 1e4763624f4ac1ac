/** Two runs at once beside a Ray cluster of somebody else's: nobody meets anybody. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { findReady } from "../../../bridge/python/setup.js";
import { commandsBelow, processes, segments, struck } from "../stopping.js";

const python = findReady()?.python ?? "";
const folder = mkdtempSync("/tmp/genenv-test-foreign-");
const address = "127.0.0.1:6397";
const env = {
  ...process.env,
  RAY_USAGE_STATS_ENABLED: "0",
  RAY_ADDRESS: address,
  RAY_AUTH_MODE: "disabled",
};

/** What the other cluster tells of its jobs. */
const jobs = (): string =>
  execFileSync(
    python,
    [
      "-c",
      "import ray; ray.init(address='127.0.0.1:6397', log_to_driver=False, logging_level='ERROR');" +
        "from ray._private.state import jobs; print(sorted(j['JobID'] for j in jobs()))",
    ],
    { env, encoding: "utf8" },
  );

beforeAll(() => {
  const start = ["start", "--head", "--port=6397", "--node-ip-address=127.0.0.1"];
  const small = ["--num-cpus=4", "--object-store-memory=100000000", "--include-dashboard=false"];
  execFileSync(join(dirname(python), "ray"), [...start, `--temp-dir=${folder}`, ...small], { env });
}, 120_000);

afterAll(() => {
  // By id: `ray stop` would end every Ray on the machine.
  for (const pid of [...pidsWith(folder), ...pidsWith(address)]) kill(pid);
  rmSync(folder, { recursive: true, force: true });
});

it("keeps two runs and another Ray apart", { timeout: 900_000 }, async () => {
  const before = jobs();
  const shared = segments();
  const addresses: string[][] = [];
  const one = (): ReturnType<typeof struck> =>
    struck({
      when: ({ type, phase }) => type === "phase" && phase === "agent-rollout",
      strike: (child) => {
        addresses.push(commandsBelow(child).filter((line) => processes["Ray's head"].test(line)));
      },
      overrides: ["trainer.total_epochs=2"],
    });
  const runs = await Promise.all([one(), one()]);
  for (const run of runs) {
    expect(run.error).toBeNull();
    expect(run.events.at(-1)).toMatchObject({ type: "result", epochs: 2, stopped: false });
    expect(run.code).toBe(0);
    // The other run's shared memory may still be there.
    expect(run.left.filter((path) => !path.startsWith("/dev/shm"))).toEqual([]);
  }
  expect(segments()).toEqual(shared);
  // A head each.
  expect(addresses.map((heads) => heads.length)).toEqual([1, 1]);
  expect(new Set(addresses.flat()).size).toBe(2);
  // The other one has met its two visitors from here, and nobody else.
  const [first, second] = [before, jobs()].map((text) => text.split(",").length);
  expect(second).toBe((first ?? 0) + 1);
});

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It went with its raylet.
  }
}

function pidsWith(text: string): number[] {
  return execFileSync("ps", ["-eo", "pid=,args=", "-ww"], { encoding: "utf8" })
    .split("\n")
    .filter((line) => line.includes(text))
    .map((line) => Number.parseInt(line, 10));
}
