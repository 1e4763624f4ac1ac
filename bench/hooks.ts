/**
 * npm run bench:hooks [-- --json] [-- --quick] [-- --part NAME]...: the hook plane against the same reward in-process in
 * Python, against an HTTP request a sample and against veRL's reward loop, and how soon it works again after the worst
 * that a hook can do. Every figure is a ratio inside one run (for a bound: bound over measured); equal sums are asserted.
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { resolveModel } from "../bridge/python/models.js";
import { findReady } from "../bridge/python/setup.js";
import { boxedAnswer } from "./boxed-answer.js";
import { type Line, type PartOptions, startReward } from "./hooks-host.js";
import { measureRecovery } from "./hooks-recovery.js";
import { measureWatch } from "./hooks-watch.js";
import { mathVerify, peerPython, run } from "./peer.js";

/** What `--part` takes; all of them where it is left out. */
const PARTS = ["plane", "http", "memory", "heavy", "waiting", "recovery", "watch", "verl"] as const;
type Part = (typeof PARTS)[number];

export async function main(args: string[], root: string): Promise<number> {
  const python = process.env.GENENV_TEST_PYTHON ?? findReady()?.python;
  if (python === undefined) {
    process.stderr.write("no Python environment yet; run: npx genenv setup\n");
    return 1;
  }
  const asked = args.flatMap((word, at) => (word === "--part" ? [args[at + 1]] : []));
  const unknown = asked.find((part) => !(PARTS as readonly unknown[]).includes(part));
  if (unknown !== undefined) {
    process.stderr.write(`--part is one of ${PARTS.join(", ")}, not ${unknown}\n`);
    return 2;
  }
  const isJson = args.includes("--json");
  const isQuick = args.includes("--quick");
  const print = (line: Line): void => {
    process.stdout.write(`${isJson ? JSON.stringify(line) : describe(line)}\n`);
  };
  const dir = await mkdtemp(join(tmpdir(), "genenv-bench-"));
  try {
    let code = 0;
    for (const part of asked.length === 0 ? PARTS : (asked as Part[])) {
      if (part === "recovery") await measureRecovery({ root, dir, print, isQuick });
      else if (part === "watch") await measureWatch({ root, dir, print, isQuick });
      else code ||= await runPart(part, { python, root, dir, print, isQuick });
    }
    return code;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** A part whose other side is Python: the client is a process of its own, as the training loop is. */
async function runPart(part: Part, options: PartOptions & { python: string }): Promise<number> {
  const { python, root, dir, print, isQuick } = options;
  const graders = join(root, "dist", "sdk", "graders", "index.js");
  const host =
    part === "heavy"
      ? await startReward(root, dir, graders, "math")
      : await startReward(root, dir, join(root, "bench", rewardOf(part)));
  const http = part === "http" ? await startHttp() : null;
  try {
    const given = {
      part,
      address: host.address,
      hostPid: host.pid,
      httpPort: http === null ? null : (http.address() as AddressInfo).port,
      mathVerify: part === "heavy" ? sitePackages(peerPython(mathVerify)) : null,
      tokenizer:
        part === "verl"
          ? await resolveModel("builtin:smollm2-135m", { python, baseDir: root })
          : null,
      quick: isQuick,
    };
    return await runClient(python, root, given, print);
  } finally {
    http?.close();
    await host.close();
  }
}

const rewardOf = (part: Part): string =>
  part === "waiting" ? "waiting-reward.ts" : "boxed-answer.ts";

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
  print: (line: Line) => void,
): Promise<number> {
  const client = spawn(python, [join(root, "bench", "hooks_client.py"), JSON.stringify(options)], {
    env: {
      ...process.env,
      PYTHONPATH: [join(root, "py"), process.env.PYTHONPATH].filter(Boolean).join(":"),
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  for await (const text of createInterface(client.stdout)) {
    print(JSON.parse(text) as Line);
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
