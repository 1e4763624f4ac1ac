import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { hookDoor, parseAddress } from "../../bridge/hooks/route.js";
import { Op } from "../../bridge/wire.js";
import { connectTo, startHost, temporaryDir } from "./hook-plane.js";

const limits = { timeoutMs: 1_000, batchTimeoutMs: 20_000, heapMb: 128, workers: 1 };

describe("where a cluster's nodes reach the hooks", () => {
  test("is the address that the route to the head starts from", async () => {
    expect(await hookDoor(null, "127.0.0.1:6379", null)).toEqual({ host: "127.0.0.1", port: 0 });
    expect(await hookDoor(null, "127.8.9.1:6379", null)).toMatchObject({
      host: expect.stringMatching(/^127\./),
    });
  });

  test("is what genenv.hooks.address says, where it says something", async () => {
    const door = await hookDoor("10.9.8.7:7001", "127.0.0.1:6379", null);
    expect(door).toEqual({ host: "10.9.8.7", port: 7001 });
  });

  test("auto means the cluster that Ray has noted on this machine", async () => {
    const env = { RAY_TMPDIR: await temporaryDir() };
    await expect(hookDoor(null, "auto", null, env)).rejects.toMatchObject({
      code: "no-ray-cluster",
      message: expect.stringContaining("does not say which Ray cluster"),
    });
    mkdirSync(join(env.RAY_TMPDIR, "ray"));
    writeFileSync(join(env.RAY_TMPDIR, "ray", "ray_current_cluster"), "127.0.0.1:6379\n");
    expect(await hookDoor(null, "auto", null, env)).toMatchObject({ host: "127.0.0.1" });
    const named = { RAY_ADDRESS: "127.0.0.1:1234" };
    expect(await hookDoor(null, "auto", null, named)).toMatchObject({ host: "127.0.0.1" });
  });

  test("a head that has no address is refused by its name", async () => {
    await expect(hookDoor(null, "no-such-head.invalid:6379", null)).rejects.toMatchObject({
      code: "no-ray-cluster",
      message: expect.stringContaining("no-such-head.invalid"),
    });
  });

  test.each([
    ["head", { host: "head", port: 0 }],
    ["head:80", { host: "head", port: 80 }],
    ["[2001:db8::1]:80", { host: "2001:db8::1", port: 80 }],
    ["2001:db8::1", { host: "2001:db8::1", port: 0 }],
  ])("%s is read as host and port", (text, door) => {
    expect(parseAddress(text)).toEqual(door);
  });
});

describe("a hook host with a door for other machines", () => {
  test("serves there with its token, and on the Unix socket without", async () => {
    const host = await startHost("hooks/sum.ts", { limits, tcp: { host: "127.0.0.1" } });
    const near = await connectTo(host);
    expect((await near.send(Op.DESCRIBE, Buffer.alloc(0))).payload.length).toBeGreaterThan(0);
    const { address, token } = host.remote ?? { address: "", token: "" };
    const stranger = await connectTo({ address: address.replace(/^tcp:/, "tcp:") });
    stranger.socket.write("no frame of ours, and long enough to be read as one");
    await stranger.closed;
    const far = await connectTo({ address });
    await far.send(Op.HELLO, Buffer.from(token));
    expect((await far.send(Op.DESCRIBE, Buffer.alloc(0))).payload.length).toBeGreaterThan(0);
  });

  test("a port that somebody else has is named", async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    const { port } = taken.address() as { port: number };
    const start = startHost("hooks/sum.ts", { limits, tcp: { host: "127.0.0.1", port } });
    await expect(start).rejects.toMatchObject({
      code: "port-taken",
      message: `the hook host can't listen at 127.0.0.1:${port}: it is taken`,
    });
    taken.close();
  });

  test("an address of another machine is named", async () => {
    const start = startHost("hooks/sum.ts", { limits, tcp: { host: "192.0.2.1" } });
    await expect(start).rejects.toMatchObject({
      code: "hook-address",
      message: expect.stringContaining("no address of this machine"),
    });
  });
});
