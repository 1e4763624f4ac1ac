/** One warm engine with a 1 M-parameter model: vLLM for real, without Ray, and a reward in TypeScript. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { scoreAll } from "../../bridge/hooks/score-all.js";
import type { EvalOptions, EvalReport } from "../../sdk/eval/types.js";
import type { Generated } from "../../sdk/session/messages.js";
import { openSession, type Session } from "../../sdk/session.js";
import reward from "./session/reward.js";

const folder = mkdtempSync(join(tmpdir(), "genenv-test-session-"));
const data = join(folder, "problems.jsonl");
const rewardFile = join(import.meta.dirname, "session", "reward.ts");
const sampling = { maxTokens: 8, seed: 5 };
let session: Session;

async function collect(samples: AsyncIterable<Generated>): Promise<Generated[]> {
  const all: Generated[] = [];
  for await (const sample of samples) all.push(sample);
  return all.sort((a, b) => a.prompt - b.prompt || a.sample - b.sample);
}

/** The command lines of all processes below one. */
function childCommands(pid: string): string[] {
  // A thread has children of its own.
  const threads = existsSync(`/proc/${pid}/task`) ? readdirSync(`/proc/${pid}/task`) : [];
  const children = threads.flatMap((thread) => words(`/proc/${pid}/task/${thread}/children`, " "));
  return children.flatMap((child) => [
    words(`/proc/${child}/cmdline`, "\0").join(" "),
    ...childCommands(child),
  ]);
}

/** What a file of /proc lists; nothing where its process has just ended. */
function words(file: string, separator: string): string[] {
  try {
    return readFileSync(file, "utf8").split(separator).filter(Boolean);
  } catch {
    return [];
  }
}

beforeAll(async () => {
  const rows = ["one", "two", "three", "four", "five", "six"].map((word, index) => ({
    question: `Write ${word}.`,
    answer: word,
    data_source: index < 4 ? "few" : "many",
  }));
  writeFileSync(data, rows.map((row) => JSON.stringify(row)).join("\n"));
  session = await openSession({ model: "builtin:tiny" }, { logDir: join(folder, "logs") });
}, 180_000);

afterAll(async () => {
  await session?.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("a warm session", { timeout: 60_000 }, () => {
  const prompts = ["What is 3 + 4?", [{ role: "user" as const, content: "Hello" }]];
  const out = join(folder, "results.jsonl");
  const options: EvalOptions = { data, reward: rewardFile, n: 4, sampling, out };
  let report: EvalReport;

  it("gives n samples of each prompt, the same ones for the same seed", async () => {
    const first = await collect(session.generate({ prompts, n: 2, sampling }));
    expect(first.map(({ prompt, sample }) => [prompt, sample])).toEqual([
      [0, 0],
      [0, 1],
      [1, 0],
      [1, 1],
    ]);
    expect(new Set(first.map(({ text }) => text)).size).toBe(4);
    for (const { finishReason, responseTokens } of first) {
      expect(finishReason === "stop" || responseTokens === 8).toBe(true);
    }
    expect(await collect(session.generate({ prompts, n: 2, sampling }))).toEqual(first);
  });

  it("puts a text to the model as one user message, unless it is raw", async () => {
    const [text, chat, raw] = [
      await session.tokenize(["Hello"]),
      await session.tokenize([[{ role: "user", content: "Hello" }]]),
      await session.tokenize(["Hello"], { raw: true }),
    ];
    expect(text).toEqual(chat);
    expect(text[0]?.length).toBeGreaterThan(raw[0]?.length ?? 0);
  });

  it("refuses a prompt that leaves no room for a response, by its number", async () => {
    const long = session.generate({ prompts: ["short", "x".repeat(session.maxModelTokens)] });
    await expect(collect(long)).rejects.toMatchObject({
      name: "DataError",
      code: "prompt-too-long",
      message: expect.stringMatching(/^prompt 1 has 20\d\d tokens/),
    });
  });

  it("refuses sampling that means nothing before it asks the engine", async () => {
    expect(() => session.generate({ prompts, sampling: { temperature: -1 } })).toThrowError(
      /temperature: .*got -1/,
    );
  });

  it("evaluates with the scores that the reward gives when it is called directly", async () => {
    report = await session.evaluate(options);
    const lines = readFileSync(out, "utf8").trim().split("\n");
    const problems = lines.slice(1).map((line) => JSON.parse(line));
    expect(problems.map(({ row }) => row).sort()).toEqual([1, 2, 3, 4, 5, 6]);
    const samples = problems.flatMap((problem) => problem.samples);
    expect(samples).toHaveLength(24);
    const direct = await scoreAll(
      reward,
      samples.map(({ text }) => ({ response: text, groundTruth: "x" })),
    );
    expect(samples.map(({ result }) => result)).toEqual(direct);
    expect(report.overall.samples).toBe(24);
    expect(report.bySource.map(({ dataSource, problems: n }) => [dataSource, n])).toEqual([
      ["few", 4],
      ["many", 2],
    ]);
  });

  it("goes on from a result file, and refuses one of another evaluation", async () => {
    const lines = readFileSync(out, "utf8").split("\n");
    // As a crash leaves it: four problems, and half a line.
    writeFileSync(out, `${lines.slice(0, 5).join("\n")}\n${lines[5]?.slice(0, 20)}`);
    let samples = 0;
    const again = await session.evaluate({
      ...options,
      onProgress: (progress) => {
        samples = progress.samples;
      },
    });
    expect(samples).toBe(8);
    expect(again).toEqual(report);
    await expect(session.evaluate({ ...options, n: 3 })).rejects.toMatchObject({
      code: "eval-differs",
      message: expect.stringContaining("n 4, now 3"),
    });
  });

  it("ends an evaluation whose reward can't be loaded, with the reward's own error", async () => {
    const reward = join(folder, "none.ts");
    const evaluation = { data, reward, n: 64, sampling: { maxTokens: 400 } };
    await expect(session.evaluate(evaluation)).rejects.toMatchObject({ code: "hook-missing" });
    expect((await session.status()).running).toBe(0);
  });

  it("cancels what is under way when its loop is left, or its signal says so", async () => {
    const long = { prompts: Array<string>(50).fill("Go on"), n: 8, sampling: { maxTokens: 1500 } };
    for await (const _ of session.generate({ ...long, sampling: { maxTokens: 400 } })) break;
    expect((await session.status()).running).toBe(0);
    const stopping = new AbortController();
    setTimeout(() => stopping.abort(), 300);
    await expect(
      collect(session.generate({ ...long, signal: stopping.signal })),
    ).rejects.toMatchObject({ name: "AbortError" });
    expect((await session.status()).running).toBe(0);
  });

  it("leaves no process and no private folder behind when it is closed", async () => {
    const { TMPDIR } = environmentOf(session.pid);
    expect(existsSync(TMPDIR ?? "")).toBe(true);
    expect(childCommands(String(process.pid)).join("\n")).toContain("genenv.engine.driver");
    await session.close();
    expect(existsSync(join(TMPDIR ?? "", "..", ".."))).toBe(false);
    expect(
      childCommands(String(process.pid)).filter((command) => /genenv|pythonia/.test(command)),
    ).toEqual([]);
    expect(() => session.generate({ prompts })).toThrowError("the session is closed");
    await expect(session.status()).rejects.toMatchObject({ code: "session-closed" });
  });
});

function environmentOf(pid: number): Record<string, string> {
  const pairs = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
  return Object.fromEntries(pairs.map((pair) => pair.split(/=(.*)/s) as [string, string]));
}
