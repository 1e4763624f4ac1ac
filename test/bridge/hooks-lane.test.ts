import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { constants, open } from "node:fs/promises";
import { expect, onTestFinished, test } from "vitest";
import { FrameReader } from "../../bridge/frame-reader.js";
import { SharedBuffers } from "../../bridge/shared-buffers.js";
import { HEADER_BYTES, Kind, Op, PIPE_REPLY_BYTES, PIPE_SUFFIX } from "../../bridge/wire.js";
import {
  connectTo,
  resultsOf,
  scorePayload,
  startHost,
  type TestHost,
  type WireClient,
  type WireReply,
} from "./hook-plane.js";

const LIMITS = { timeoutMs: 600, batchTimeoutMs: 20_000, heapMb: 64, workers: 2 };

type Piped = { client: WireClient; path: string; read: () => Promise<WireReply[]> };

/** A client with a pipe for replies, as the Python one has. */
async function piped(host: TestHost): Promise<Piped> {
  const client = await connectTo(host);
  const file = (await client.send(Op.HELLO, Buffer.alloc(0))).payload.toString("utf8");
  const path = `${file}${PIPE_SUFFIX}`;
  execFileSync("mkfifo", ["-m", "600", path]);
  const pipe = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  onTestFinished(() => pipe.close());
  const frames = new FrameReader(PIPE_REPLY_BYTES, new SharedBuffers(0));
  const read = async (): Promise<WireReply[]> => {
    const found: WireReply[] = [];
    const { bytesRead, buffer } = await pipe
      .read(Buffer.alloc(1 << 16))
      // Nothing is in it.
      .catch(() => ({ bytesRead: 0, buffer: Buffer.alloc(0) }));
    frames.push(buffer.subarray(0, bytesRead), ({ header, payload }) =>
      found.push({ header, payload: Buffer.from(new Uint8Array(payload)) }),
    );
    return found;
  };
  return { client, path, read };
}

/** What has come through the pipe, when something has. */
async function fromPipe({ read }: Piped, replies = 1): Promise<WireReply[]> {
  const found: WireReply[] = [];
  await expect
    .poll(async () => found.push(...(await read())), { timeout: 5_000, interval: 10 })
    .toBeGreaterThanOrEqual(replies);
  return found;
}

test("a worker answers plain scores through the client's pipe, and the host all else", async () => {
  const host = await startHost("bad-hooks/hostile.ts", { limits: LIMITS });
  const client = await piped(host);
  void client.client.send(Op.SCORE, scorePayload(["a", "bc"]));
  const [reply] = await fromPipe(client);
  expect(reply?.header).toMatchObject({ op: Op.SCORE, kind: Kind.REPLY_F64, id: 2n });
  expect(resultsOf(reply as WireReply)).toEqual([1, 2]);
  // The name is gone as soon as the host has the pipe.
  expect(existsSync(client.path)).toBe(false);
  for (const guilty of ["rejection", "throw", "nan", "exit", "loop"]) {
    const results = await client.client.score(["a", guilty, "bc"]);
    expect([results[0], results[2]]).toEqual([1, 2]);
    expect(results[1]).toMatch(/^(crashed|threw|bad-result|timeout): /);
  }
  expect(await client.read()).toEqual([]);
});

test("a promise rejected after its sample was scored is logged, and changes no later batch", async () => {
  const host = await startHost("bad-hooks/hostile.ts", { limits: LIMITS });
  const client = await piped(host);
  void client.client.send(Op.SCORE, scorePayload(["rejection-after", "abc"]));
  const [first] = await fromPipe(client);
  expect(resultsOf(first as WireReply)).toEqual([1, 3]);
  const isLogged = async (): Promise<boolean> =>
    /left a promise rejected[\s\S]*nobody waits any more/.test(await host.log());
  // Meanwhile other batches lie in the memory that the first one's scores were in.
  const responses = Array<string>(64).fill("ab");
  const until = Date.now() + 5_000;
  while (!(await isLogged())) {
    expect(Date.now()).toBeLessThan(until);
    void client.client.send(Op.SCORE, scorePayload(responses));
    const [reply] = await fromPipe(client);
    expect(resultsOf(reply as WireReply)).toEqual(responses.map(() => 2));
  }
});

test("what a full pipe or a long reply doesn't fit in comes over the socket", async () => {
  const host = await startHost("bad-hooks/hostile.ts", { limits: LIMITS });
  const client = await piped(host);
  const rows = (PIPE_REPLY_BYTES - HEADER_BYTES) / 8;
  const most = Array<string>(Math.floor(rows)).fill("abc");
  expect(await client.client.score([...most, "ab"])).toEqual([...most.map(() => 3), 2]);
  // The system's pipe holds 16 of them: at least four of these come over the socket.
  const payload = scorePayload(most);
  let overSocket = 0;
  for (let i = 0; i < 20; i++) {
    void client.client.send(Op.SCORE, payload).then(() => {
      overSocket += 1;
    });
  }
  await expect.poll(() => overSocket, { timeout: 10_000 }).toBeGreaterThanOrEqual(4);
  const piecesInPipe = await fromPipe(client);
  await expect.poll(() => overSocket + piecesInPipe.length, { timeout: 5_000 }).toBe(20);
  for (const reply of piecesInPipe) expect(resultsOf(reply)).toEqual(most.map(() => 3));
});

test("clients that die in the middle of a batch leave nothing open on the host", async () => {
  const host = await startHost("bad-hooks/hostile.ts", { limits: LIMITS });
  const openFiles = (): number => readdirSync(`/proc/${host.pid}/fd`).length;
  const stays = await connectTo(host);
  // Both workers work, and the spare is there: what comes later is the clients'.
  await stays.score(Array<string>(64).fill("abc"));
  let before = -1;
  const isSteady = (): boolean => {
    const last = before;
    before = openFiles();
    return before === last;
  };
  await expect.poll(isSteady, { timeout: 10_000, interval: 500 }).toBe(true);
  for (let i = 0; i < 10; i++) {
    const dies = await piped(host);
    void dies.client.send(Op.SCORE, scorePayload(["abc"]));
    await fromPipe(dies);
    void dies.client.send(Op.SCORE, scorePayload(["ab", i % 5 === 0 ? "loop" : "abc"]));
    dies.client.socket.destroy();
  }
  expect(await stays.score(["next"])).toEqual([4]);
  // A worker that starts has a few of its own; a file left of each client would be ten.
  await expect.poll(openFiles, { timeout: 10_000 }).toBeLessThan(before + 8);
});

test("a pipe that nobody reads any more, or that was never used, is no harm", async () => {
  const host = await startHost("bad-hooks/hostile.ts", { limits: LIMITS });
  const unused = await piped(host);
  unused.client.socket.destroy();
  await expect.poll(() => existsSync(unused.path), { timeout: 5_000 }).toBe(false);
  const gone = await piped(host);
  void gone.client.send(Op.SCORE, scorePayload(["a"]));
  await fromPipe(gone);
  gone.client.socket.destroy();
  const other = await connectTo(host);
  expect(await other.score(["next"])).toEqual([4]);
  expect(host.pid).toBeGreaterThan(0);
});
