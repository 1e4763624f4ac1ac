import { rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { Op } from "../../bridge/wire.js";
import {
  connectTo,
  resultsOf,
  scorePayload,
  startHost,
  type TestHost,
  type WireClient,
} from "./hook-plane.js";

// The guilty response sits between others whose scores are their lengths.
const before = ["ab", "abc", "a"];
const after = ["abcd", "ab"];
const LIMITS = { timeoutMs: 600, batchTimeoutMs: 20_000, heapMb: 64, workers: 2, concurrency: 8 };

// Starting a host costs a second or more where two cores are busy: tests share what they can.
let hostile: TestHost;
let slow: TestHost;

beforeAll(async () => {
  hostile = await startHost("bad-hooks/hostile.ts", { limits: LIMITS }, null);
  slow = await startHost("bad-hooks/slow.ts", { limits: LIMITS }, null);
});

afterAll(async () => {
  for (const host of [hostile, slow]) {
    await host.close();
    await rm(host.dir, { recursive: true, force: true });
  }
});

/** Scores a batch with one guilty response; returns its result, and checks all others. */
async function guilty(client: WireClient, response: string): Promise<string> {
  const results = await client.score([...before, response, ...after]);
  expect(results.filter((_, row) => row !== 3)).toEqual([2, 3, 1, 4, 2]);
  expect(await client.score(["next"])).toEqual([4]);
  return String(results[3]);
}

test("cuts what never returns at the deadline, and gives the others their scores", async () => {
  const client = await connectTo(hostile);
  const startedMs = performance.now();
  for (const response of ["loop", "regex", "microtasks"]) {
    expect(await guilty(client, response)).toMatch(
      /^timeout: reward "hostile" took more than 600 ms for sample 3 of task t-3;/,
    );
  }
  expect(performance.now() - startedMs).toBeLessThan(10_000);
});

test("answers at the deadline while a child process blocks the thread, and ends that process", async () => {
  const client = await connectTo(hostile);
  expect(await guilty(client, "child")).toMatch(/^timeout:/);
  await expect
    .poll(() => hostile.events.map((event) => event.message).join("\n"), { timeout: 5_000 })
    .toMatch(/killed process \d+/);
});

test("a heap bomb takes only its own thread with it", async () => {
  const host = await startHost("bad-hooks/hostile.ts", {
    limits: { ...LIMITS, ...{ timeoutMs: 15_000 } },
  });
  const client = await connectTo(host);
  const { pid } = host;
  expect(await guilty(client, "bomb")).toMatch(
    /^out-of-memory: reward "hostile" needed more than 64 MB of heap for sample 3 of task t-3/,
  );
  expect(host.pid).toBe(pid);
});

test("names what a hook did to end its thread or leave an error behind", async () => {
  const client = await connectTo(hostile);
  expect(await guilty(client, "exit")).toBe(
    'crashed: reward "hostile" called process.exit(3) for sample 3 of task t-3',
  );
  expect(await guilty(client, "rejection")).toMatch(
    /^crashed: reward "hostile" left a promise rejected .*: Error: nobody waits for this\n {4}at .*hostile\.ts:\d+:\d+/,
  );
  expect(await guilty(client, "late-throw")).toMatch(
    /^crashed: .* threw outside of its call .*thrown later/,
  );
});

test("a hook that throws is shown with its own file and line", async () => {
  const client = await connectTo(hostile);
  expect(await guilty(client, "throw")).toMatch(
    /^threw: reward "hostile" threw for sample 3 of task t-3: TypeError: no such luck\n {4}at .*bad-hooks\/hostile\.ts:\d+:\d+/,
  );
  expect(await guilty(client, "throw-string")).toMatch(/: the string "just text"$/);
});

test("what is no result is a failure that shows the value", async () => {
  const client = await connectTo(hostile);
  const shown = {
    nan: "NaN",
    infinity: "Infinity",
    string: 'the string "1"',
    undefined: "undefined",
    array: "an array of 2",
  };
  for (const [response, value] of Object.entries(shown)) {
    expect(await guilty(client, response)).toBe(
      `bad-result: reward "hostile" returned ${value} for sample 3 of task t-3; ` +
        'return a finite number, or abstain("why") to leave the sample out',
    );
  }
});

test("a batch over its own deadline keeps the scores it has", async () => {
  const host = await startHost("bad-hooks/hostile.ts", {
    limits: {
      ...LIMITS,
      ...{
        timeoutMs: 60_000,
        batchTimeoutMs: 700,
        workers: 1,
      },
    },
  });
  const client = await connectTo(host);
  const results = await client.score(["abc", "loop", "ab"]);
  expect(results[0]).toBe(3);
  expect(results[1]).toMatch(/^timeout: sample 1 of task t-1 had no result .* 700 ms were over/);
  expect(results[2]).toMatch(/^timeout: sample 2/);
  expect(await client.score(["next"])).toEqual([4]);
});

test("what a hook prints goes to the log with its task and sample", async () => {
  const client = await connectTo(hostile);
  expect(await client.score(["abc", "log"])).toEqual([3, 1]);
  expect(await hostile.log()).toMatch(/ \[task t-1 sample 1\] hello from t-1\n/);
});

test("async hooks run many samples at once, and never more than they allow", async () => {
  const client = await connectTo(slow);
  await client.score(["1"]);
  const startedMs = performance.now();
  // 32 samples of 200 ms, 8 at once: 0.8 s and not 6.4 s.
  expect(await client.score(Array(32).fill("200"))).toEqual(Array(32).fill(3));
  const tookMs = performance.now() - startedMs;
  expect(tookMs).toBeGreaterThan(780);
  expect(tookMs).toBeLessThan(3_000);
});

test("512 samples that wait for a judge are 64 at a time", async () => {
  let underWay = 0;
  let most = 0;
  // Answers only when 64 ask, or when no more are left to ask: fewer at a time would hang here.
  let waiting: (() => void)[] = [];
  let asked = 0;
  const judge = createServer((request, response) => {
    underWay += 1;
    asked += 1;
    most = Math.max(most, underWay);
    request.resume();
    waiting.push(() => {
      underWay -= 1;
      response.end("1");
    });
    if (waiting.length < 64 && asked < 512) return;
    const ready = waiting;
    waiting = [];
    // A moment, in which a 65th would come if it were let through.
    setTimeout(() => {
      for (const answer of ready) answer();
    }, 20);
  });
  await new Promise<void>((resolve) => judge.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    judge.closeAllConnections();
    judge.close();
  });
  process.env.GENENV_TEST_JUDGE = `http://127.0.0.1:${(judge.address() as AddressInfo).port}`;
  const host = await startHost("hooks/judge.ts", {
    // One thread: a second may still be loading when the batch comes, and its half would wait.
    limits: { ...LIMITS, workers: 1, timeoutMs: 20_000, batchTimeoutMs: 40_000, heapMb: 256 },
  });
  const client = await connectTo(host);
  expect(await client.score(Array(512).fill("is it right?"))).toEqual(Array(512).fill(1));
  expect([asked, most]).toEqual([512, 64]);
});

test("among async samples under way only the guilty one fails", async () => {
  const client = await connectTo(slow);
  await client.score(["1"]);
  const others = ["30", "31", "100"];
  const cases: [string, RegExp][] = [
    ["never", /^timeout:/],
    ["20-loop", /^timeout:/],
    ["20-exit", /^crashed: .* called process\.exit\(4\)/],
    ["20-throw", /^threw: .*RangeError: too far\n {4}at .*slow\.ts/],
    ["20-timer", /^crashed: .*thrown in a timer/],
  ];
  for (const [response, expected] of cases) {
    const results = await client.score([...others, response, ...others]);
    expect(
      results.filter((_, row) => row !== 3),
      response,
    ).toEqual([2, 2, 3, 2, 2, 3]);
    expect(results[3]).toMatch(expected);
  }
});

test("a hook that kills its host costs the batch a retry and fails alone", async () => {
  const host = await startHost("bad-hooks/hostile.ts", { limits: LIMITS });
  // As the Python client does: the same batch again, its attempts counted.
  const responses = [...before, "kill-host", ...after];
  let results: unknown[] | undefined;
  for (let attempt = 0; attempt < 5 && results === undefined; attempt++) {
    results = await scoreOrLose(host, responses, attempt);
  }
  expect(results?.filter((_, row) => row !== 3)).toEqual([2, 3, 1, 4, 2]);
  expect(results?.[3]).toBe(
    'crashed: reward "hostile" took the hook host down for sample 3 of task t-3',
  );
  expect(host.events.filter(isDeath).length).toBeLessThanOrEqual(2);
});

async function scoreOrLose(
  host: TestHost,
  responses: string[],
  attempt: number,
): Promise<unknown[] | undefined> {
  const client = await connectWhenUp(host);
  const reply = client.send(Op.SCORE, scorePayload(responses), attempt);
  const first = await Promise.race([reply, client.closed.then(() => undefined)]);
  return first === undefined ? undefined : resultsOf(first);
}

async function connectWhenUp(host: TestHost): Promise<WireClient> {
  for (let tries = 0; ; tries++) {
    try {
      return await connectTo(host);
    } catch (error) {
      if (tries > 300) throw error;
      await sleep(20);
    }
  }
}

function isDeath(event: TestHost["events"][number]): boolean {
  return event.type === "warning" && event.code === "hook-host-died";
}
