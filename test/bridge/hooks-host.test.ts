import { spawn } from "node:child_process";
import { once } from "node:events";
import { open, rm, stat, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { z } from "zod";
import { scoreAll } from "../../bridge/hooks/score-all.js";
import { openDoors } from "../../bridge/hooks/server.js";
import { abstain, score } from "../../bridge/hooks/types.js";
import { Kind, MAPPED_BYTES, Op } from "../../bridge/wire.js";
import { reward } from "../fixtures/hooks/define.js";
import {
  connectTo,
  fixtures,
  payloadOf,
  repository,
  resultsOf,
  scorePayload,
  startHost,
  temporaryDir,
  type WireClient,
} from "./hook-plane.js";

const LIMITS = {
  timeoutMs: 1_000,
  batchTimeoutMs: 20_000,
  heapMb: 128,
  workers: 2,
  concurrency: 4,
};

test("bad frames close their own connection with a logged reason, and nothing else", async () => {
  const host = await startHost("hooks/sum.ts", { limits: LIMITS });
  const neighbour = await connectTo(host);
  const floats = Buffer.from("not arrow at all, but long enough to be looked at as if it were");
  const strangers: ((client: WireClient) => unknown)[] = [
    (client) => client.socket.write("GET / HTTP/1.1\r\nHost: somebody\r\n\r\n"),
    (client) => client.socket.end(Buffer.from("47")),
    (client) => client.send(Op.SCORE, floats),
    (client) => client.send(Op.SCORE, payloadOf({ response: ["7"] })),
    (client) =>
      client.send(Op.SCORE, payloadOf({ response: [null], task_id: ["t"], ground_truth: ["1"] })),
  ];
  for (const misbehave of strangers.slice(0, 4)) {
    const stranger = await connectTo(host);
    misbehave(stranger);
    await stranger.closed;
  }
  expect(await neighbour.score(["7"])).toEqual([expect.stringContaining("doesn't fit the schema")]);
  const log = host.events.map((event) => event.message).join("\n");
  expect(log).toContain("closed a connection from local: a frame starts with 0x20544547");
  expect(log).toContain("cut short by the end of the connection");
  expect(log).toContain("holds no Arrow message");
  expect(log).toContain('misses the column "task_id"');
});

test("large payloads may lie in the connection's own shared memory", async () => {
  const host = await startHost("bad-hooks/hostile.ts", { limits: LIMITS });
  const client = await connectTo(host);
  const path = (await client.send(Op.HELLO, Buffer.alloc(0))).payload.toString("utf8");
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  const payload = scorePayload(["four", "fives"]);
  const file = await open(path, "r+");
  await file.write(payload, 0, payload.length, 640);
  await file.close();
  const reply = await client.sendMapped(Op.SCORE, 640, payload.length);
  expect(resultsOf(reply)).toEqual([4, 5]);
  for (const [offset, length] of [
    [MAPPED_BYTES - 8, 9],
    [0, 0xffffffff],
    [0xffffffff, 8],
  ] as const) {
    const stranger = await connectTo(host);
    await stranger.send(Op.HELLO, Buffer.alloc(0));
    void stranger.sendMapped(Op.SCORE, offset, length);
    await stranger.closed;
  }
  const early = await connectTo(host);
  void early.sendMapped(Op.SCORE, 0, 8);
  await early.closed;
  expect(await client.score(["next"])).toEqual([4]);
  client.socket.destroy();
  await expect.poll(() => stat(path).catch((error) => error.code)).toBe("ENOENT");
});

test("a hook's host is a process of its own that is started again at the same address", async () => {
  const host = await startHost("hooks/sum.ts", { limits: LIMITS });
  const { pid, address } = host;
  expect(pid).not.toBe(process.pid);
  const client = await connectTo(host);
  // This client is offered shared memory, and doesn't open it.
  const path = (await client.send(Op.HELLO, Buffer.alloc(0))).payload.toString("utf8");
  expect((await stat(path)).size).toBe(MAPPED_BYTES);
  process.kill(pid, "SIGKILL");
  await client.closed;
  await expect.poll(() => stat(path).catch((error) => error.code)).toBe("ENOENT");
  await expect.poll(() => host.pid, { timeout: 20_000 }).not.toBe(pid);
  await expect.poll(() => canConnect(address), { timeout: 20_000 }).toBe(true);
  expect(host.address).toBe(address);
  expect(host.events).toContainEqual({
    type: "warning",
    code: "hook-host-died",
    message: "the hook host died (SIGKILL); starting it again",
  });
});

test("a host that can't be started again says why", async () => {
  const projectDir = await temporaryDir();
  const hook = `{ [Symbol.for("genenv.hook")]: "reward", name: "one", groundTruth: z.unknown(),
    uses: [], concurrency: null, score: () => 1 }`;
  const path = join(projectDir, "reward.ts");
  await writeFile(path, `import { z } from "zod"; export default ${hook};`);
  const reward = { kind: "file", path, exportName: "default" } as const;
  const host = await startHost("", { modules: { ...noModules, reward }, projectDir });
  // The compiled hook, which a new host would load.
  await rm(join(projectDir, ".genenv"), { recursive: true });
  process.kill(host.pid, "SIGKILL");
  const lost = (): unknown =>
    host.events.find((event) => event.type === "warning" && event.code === "hook-host-lost");
  await expect.poll(lost, { timeout: 20_000 }).toBeDefined();
  expect(lost()).toMatchObject({
    message: expect.stringMatching(
      /^the hook host can't be started again: .*reward\.ts failed while it was loaded: .*Cannot find module/,
    ),
  });
});

test("what goes wrong in the host itself comes back as an error of its own", async () => {
  const path = join(await temporaryDir(), "s.sock");
  const { addresses, close } = await openDoors([{ listen: { path }, token: null }], {
    handle: () => Promise.reject(new TypeError("no such table")),
    log: () => {},
  });
  const client = await connectTo({ address: addresses[0] as string });
  const { header, payload } = await client.send(Op.SCORE, scorePayload(["a"]));
  expect(header.kind).toBe(Kind.ERROR);
  expect(JSON.parse(payload.toString("utf8"))).toEqual({
    code: "host-error",
    message: "no such table",
    hint: null,
  });
  await close();
});

const noModules = { reward: null, environment: null, curriculum: null, algorithms: null };

function canConnect(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(address.slice("unix:".length));
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

test("the host ends when its parent is killed, with what its hooks started", async () => {
  const dir = await temporaryDir();
  const options = {
    modules: {
      reward: { kind: "file", path: join(fixtures, "bad-hooks/hostile.ts"), exportName: "default" },
      environment: null,
      curriculum: null,
      algorithms: null,
    },
    dir: join(dir, "run"),
    logFile: join(dir, "hooks.log"),
    projectDir: repository,
    limits: { ...LIMITS, timeoutMs: 60_000 },
  };
  const script = join(repository, "test", "py", "hook_host.mjs");
  const parent = spawn("node", [script, JSON.stringify(options)], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  const [line] = await once(createInterface(parent.stdout), "line");
  const { address, pid } = JSON.parse(line);
  const client = await connectTo({ address });
  void client.send(Op.SCORE, scorePayload(["child"]));
  await expect.poll(() => groupOf(pid), { timeout: 10_000 }).toBeGreaterThan(1);
  parent.kill("SIGKILL");
  await expect.poll(() => groupOf(pid), { timeout: 10_000 }).toBe(0);
});

/** How many live processes a process group has. */
async function groupOf(pgid: number): Promise<number> {
  const ps = spawn("ps", ["-eo", "pgid=,stat="]);
  let count = 0;
  for await (const line of createInterface(ps.stdout)) {
    const [group, state] = line.trim().split(/\s+/);
    if (Number(group) === pgid && !state?.startsWith("Z")) count += 1;
  }
  return count;
}

test("the socket and its folder are private", async () => {
  const host = await startHost("hooks/sum.ts", { limits: LIMITS });
  const path = host.address.slice("unix:".length);
  expect((await stat(path)).mode & 0o077).toBe(0);
  expect((await stat(join(path, ".."))).mode & 0o077).toBe(0);
});

test("a folder too long for a socket gets one elsewhere", async () => {
  const dir = join(await temporaryDir(), "d".repeat(120));
  const host = await startHost("hooks/sum.ts", { limits: LIMITS, dir });
  expect(host.address.length).toBeLessThan(100);
  expect(await (await connectTo(host)).score(["abstain"])).toEqual([
    expect.stringContaining("doesn't fit"),
  ]);
});

test("a host that can't load its hook says why", async () => {
  await expect(startHost("bad-hooks/top-level-throw.ts")).rejects.toMatchObject({
    code: "hook-load",
    message: expect.stringMatching(/top-level-throw\.ts failed while it was loaded: SyntaxError/),
  });
  await expect(startHost("bad-hooks/no-hook.ts")).rejects.toMatchObject({ code: "hook-export" });
});

const lengths = reward({
  name: "lengths",
  groundTruth: z.unknown(),
  score: async ({ response, signal }) => {
    if (response === "never") await new Promise(() => {});
    if (response === "wait") await sleep(5_000, undefined, { signal });
    if (response === "throw") throw new Error("no");
    if (response === "abstain") return abstain("why not");
    return score(response.length, { metrics: { half: response.length / 2 } });
  },
});

test("a hook given as a function is served from this process, with a warning", async () => {
  const host = await startHost({ hook: lengths }, { limits: LIMITS });
  expect(host.pid).toBe(process.pid);
  expect(host.events[0]).toMatchObject({ type: "warning", code: "hook-in-process" });
  const client = await connectTo(host);
  const results = await client.score(["ab", "never", "throw", "abstain", "abcd"]);
  expect(results).toEqual([
    2,
    expect.stringMatching(
      /^timeout: reward "lengths" took more than 1000 ms for sample 1 of task t-1/,
    ),
    expect.stringMatching(
      /^threw: reward "lengths" threw for sample 2 of task t-2: Error: no\n {4}at .*hooks-host\.test\.ts/,
    ),
    "abstain: why not",
    4,
  ]);
});

test("a value that is no hook is refused before anything starts", async () => {
  await expect(startHost({ hook: { name: "x" } })).rejects.toThrow(
    'the value given as reward is {"name":"x"}, not a reward hook',
  );
});

test("scoring in this process gives the same results and texts", async () => {
  const rows = ["ab", "wait", "throw", "abstain"].map((response, i) => ({
    response,
    groundTruth: null,
    taskId: `t-${i}`,
  }));
  const results = await scoreAll(lengths, rows, { timeoutMs: 100 });
  expect(results).toEqual([
    { kind: "score", value: 2, success: null, metrics: { half: 1 } },
    {
      kind: "failed",
      code: "timeout",
      reason: expect.stringContaining("more than 100 ms for sample 1 of task t-1"),
    },
    { kind: "failed", code: "threw", reason: expect.stringContaining("Error: no") },
    { kind: "abstain", reason: "why not" },
  ]);
  expect(await scoreAll(lengths, [])).toEqual([]);
});

test("a batch's deadline holds in this process too", async () => {
  const rows = Array.from({ length: 3 }, () => ({ response: "never", groundTruth: null }));
  const results = await scoreAll(lengths, rows, { timeoutMs: 60_000, batchTimeoutMs: 100 });
  expect(results.map((result) => result.kind === "failed" && result.code)).toEqual([
    "timeout",
    "timeout",
    "timeout",
  ]);
});

test("a reward of numbers alone is answered with raw scores", async () => {
  const client = await connectTo(await startHost("bad-hooks/hostile.ts", { limits: LIMITS }));
  const plain = await client.send(Op.SCORE, scorePayload(["a", "bc"]));
  expect(plain.header.kind).toBe(Kind.REPLY_F64);
  const mixed = await client.send(Op.SCORE, scorePayload(["a", "nan"]));
  expect(mixed.header.kind).toBe(Kind.REPLY);
});

test("the first failure of each kind is told with its file and line, the others are not", async () => {
  const host = await startHost("bad-hooks/hostile.ts", { limits: LIMITS });
  const client = await connectTo(host);
  await client.score(["throw", "nan", "throw", "undefined"]);
  await client.score(["throw"]);
  await expect.poll(() => host.events.length, { timeout: 5_000 }).toBe(2);
  expect(host.events).toEqual([
    {
      type: "warning",
      code: "hook-threw",
      message: expect.stringMatching(
        /sample 0 of task t-0: TypeError: .*\n {4}at .*hostile\.ts:\d+:\d+[\s\S]*\n {4}response: "throw"$/,
      ),
    },
    {
      type: "warning",
      code: "hook-bad-result",
      message: expect.stringMatching(/ returned NaN .*\n {4}response: "nan"$/),
    },
  ]);
});
