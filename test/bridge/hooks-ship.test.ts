import { spawn } from "node:child_process";
import { cp, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import type { HookModules } from "../../bridge/hooks/host.js";
import type { NodeReady } from "../../bridge/hooks/node-host.js";
import { shipHooks } from "../../bridge/hooks/ship.js";
import { Op } from "../../bridge/wire.js";
import {
  connectTo,
  fixtures,
  repository,
  resultsOf,
  scorePayload,
  temporaryDir,
} from "./hook-plane.js";

const none: HookModules = { reward: null, environment: null, curriculum: null, algorithms: null };
const file = (path: string, exportName = "default") =>
  ({ kind: "file", path: join(fixtures, path), exportName }) as const;

/** node-host.js as a node's actor runs it: in a folder of its own, far from any node_modules. */
async function startShipped(
  folder: string,
  dir: string,
): Promise<{ ready: NodeReady; end(): Promise<number | null> }> {
  const child = spawn(process.execPath, ["node-host.js"], { cwd: folder });
  child.stdin.write(`${JSON.stringify({ dir, limits: { workers: 1, heapMb: 128 } })}\n`);
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const end = (): Promise<number | null> => {
    child.stdin.end();
    return ended;
  };
  onTestFinished(async () => void (await end()));
  for await (const line of createInterface({ input: child.stdout })) {
    return { ready: JSON.parse(line) as NodeReady, end };
  }
  throw new Error("it said nothing");
}

test("shipped hooks score far from the project, and take their folder with them", async () => {
  const [built, elsewhere] = [await temporaryDir(), await temporaryDir()];
  const modules = {
    ...none,
    reward: file("hooks/sum.ts"),
    environment: file("hooks/sum.ts", "sums"),
  };
  await shipHooks({ modules, projectDir: repository, dir: join(built, "hooks") });
  const folder = join(elsewhere, "bundle");
  await cp(join(built, "hooks"), folder, { recursive: true });
  const { ready, end } = await startShipped(folder, join(elsewhere, "run"));
  if (!("address" in ready)) throw new Error(ready.message);
  const client = await connectTo(ready);
  expect(resultsOf(await client.send(Op.SCORE, scorePayload(["7", "8"], "7")))).toEqual([1, 0]);
  expect((await stat(join(elsewhere, "run"))).mode & 0o777).toBe(0o700);
  expect(await end()).toBe(0);
  await expect(stat(join(elsewhere, "run"))).rejects.toThrow("ENOENT");
});

test("a hook's errors keep their place in the file the user wrote", async () => {
  const dir = join(await temporaryDir(), "hooks");
  await shipHooks({
    modules: { ...none, reward: file("bad-hooks/top-level-throw.ts") },
    projectDir: repository,
    dir,
  });
  const { ready } = await startShipped(dir, join(dir, "run"));
  expect(ready).toMatchObject({
    code: "hook-load",
    message: expect.stringContaining("top-level-throw.ts"),
  });
});

test("a function of this process can't be shipped", async () => {
  const dir = join(await temporaryDir(), "hooks");
  const modules = { ...none, reward: { kind: "value", hook: () => 1 } as const };
  await expect(shipHooks({ modules, projectDir: repository, dir })).rejects.toMatchObject({
    code: "hook-ship",
    message: "the reward hook is a function of this process and can't run on a node",
  });
});

test("a native module is refused by the hook's name", async () => {
  const dir = await temporaryDir();
  await writeFile(join(dir, "addon.node"), "native");
  await writeFile(join(dir, "reward.ts"), 'import "./addon.node";\nexport default () => 1;\n');
  const reward = { kind: "file", path: join(dir, "reward.ts"), exportName: "default" } as const;
  const ship = shipHooks({ modules: { ...none, reward }, projectDir: dir, dir: join(dir, "out") });
  await expect(ship).rejects.toThrow(/addon\.node/);
});

test("the list of shipped modules names files of the folder only", async () => {
  const dir = join(await temporaryDir(), "hooks");
  await shipHooks({
    modules: { ...none, reward: file("hooks/sum.ts") },
    projectDir: repository,
    dir,
  });
  const { reward, environment } = JSON.parse(await readFile(join(dir, "modules.json"), "utf8"));
  expect(reward.file).toBe("hook-reward.js");
  expect(environment).toBeNull();
});
