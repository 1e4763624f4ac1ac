/**
 * npm run bench:hooks [-- --json] [-- --quick]: the hook plane against the same reward in-process in Python, and
 * against an HTTP request a sample. Every figure is a ratio inside one run; equal sums are asserted.
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, extname, join } from "node:path";
import { createInterface } from "node:readline";
import { type HookHost, startHookHost } from "../bridge/hooks/host.js";
import { resolveModel } from "../bridge/python/models.js";
import { findReady } from "../bridge/python/setup.js";
import { boxedAnswer } from "./boxed-answer.js";
import { mathVerify, peerPython, run } from "./peer.js";

type Line = { name: string; ratio: number; atLeast?: number; atMost?: number } & Record<
  string,
  number | string
>;

export async function main(args: string[], root: string): Promise<number> {
  const python = process.env.GENENV_TEST_PYTHON ?? findReady()?.python;
  if (python === undefined) {
    process.stderr.write("no Python environment yet; run: npx genenv setup\n");
    return 1;
  }
  const dir = await mkdtemp(join(tmpdir(), "genenv-bench-"));
  const graders = join(root, "dist", "sdk", "graders", "index.js");
  const host = await startReward(root, dir, join(root, "bench", "boxed-answer.ts"));
  const mathHost = await startReward(root, dir, graders, "math");
  const waitingHost = await startReward(root, dir, join(root, "bench", "waiting-reward.ts"));
  const http = await startHttp();
  try {
    const { port } = http.address() as AddressInfo;
    const { address } = host;
    const options = {
      mathAddress: mathHost.address,
      waitingAddress: waitingHost.address,
      mathVerify: sitePackages(peerPython(mathVerify)),
      tokenizer: await resolveModel("builtin:smollm2-135m", { python, baseDir: root }),
      address,
      token: null,
      httpPort: port,
      hostPid: host.pid,
      quick: args.includes("--quick"),
    };
    const isJson = args.includes("--json");
    const plane = await runClient(python, root, { ...options, part: "plane" }, isJson);
    const verl = await runClient(python, root, { ...options, part: "verl" }, isJson);
    return plane || verl;
  } finally {
    http.close();
    await Promise.all([host, mathHost, waitingHost].map((each) => each.close()));
    await rm(dir, { recursive: true, force: true });
  }
}

/** A host with one reward. */
async function startReward(
  root: string,
  dir: string,
  path: string,
  exportName = "default",
): Promise<HookHost> {
  const own = join(dir, `${basename(path, extname(path))}-${exportName}`);
  return startHookHost({
    modules: {
      reward: { kind: "file", path, exportName },
      environment: null,
      curriculum: null,
      algorithms: null,
    },
    dir: own,
    logFile: join(own, "hooks.log"),
    projectDir: root,
  });
}

/** Where a Python finds what pip has installed for it. */
function sitePackages(python: string): string {
  const script = "import sysconfig; print(sysconfig.get_path('purelib'), end='')";
  return run(python, ["-c", script]);
}

/** The usual way to reach a reward that isn't Python: a request a sample. */
async function startHttp(): Promise<Server> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = JSON.parse(Buffer.concat(chunks).toString("utf8"));
      const score = boxedAnswer(body.solution_str, body.ground_truth);
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ score }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

async function runClient(
  python: string,
  root: string,
  options: object,
  isJson: boolean,
): Promise<number> {
  const client = spawn(python, [join(root, "bench", "hooks_client.py"), JSON.stringify(options)], {
    env: {
      ...process.env,
      PYTHONPATH: [join(root, "py"), process.env.PYTHONPATH].filter(Boolean).join(":"),
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  for await (const text of createInterface(client.stdout)) {
    process.stdout.write(`${isJson ? text : describe(JSON.parse(text) as Line)}\n`);
  }
  return (
    client.exitCode ??
    (await new Promise<number>((resolve) => client.once("exit", (code) => resolve(code ?? 1))))
  );
}

function describe({ name, ratio, atLeast, atMost, ...figures }: Line): string {
  const isMet = atMost === undefined ? ratio >= (atLeast ?? 0) : ratio <= atMost;
  const goal = atMost === undefined ? `at least ${atLeast}x` : `at most ${atMost}x`;
  const shown = Object.entries(figures).map(
    ([key, value]) => `${key} ${value.toLocaleString("en")}`,
  );
  return `${isMet ? "ok  " : "MISS"} ${ratio.toFixed(2)}x (${goal})  ${name}  [${shown.join(", ")}]`;
}
