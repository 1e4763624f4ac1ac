import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ConfigError } from "../../../bridge/errors.js";
import type { CallOptions } from "../../../bridge/python/session.js";
import { type EvalArguments, evalCommand } from "../../../sdk/cli/eval-command.js";
import { type GenerateArguments, generateCommand } from "../../../sdk/cli/generate-command.js";
import type { EvalComparison, EvalReport } from "../../../sdk/eval/types.js";
import { type FakeParts, fakeParts } from "../run/fake-parts.js";
import { rejectionOf, tempFolder } from "../temp.js";

type Job = (params: Record<string, unknown>, options: CallOptions) => Promise<unknown>;

const status = { maxModelTokens: 64, running: 0, samples: 0, responseTokens: 0, upSeconds: 1 };

/** A model called "right" answers with the prompt's number, others with "?"; a truth "fail" fails its scores. */
function engineJobs(): Record<string, Job> {
  let model = "";
  return {
    "session.open": async (params) => {
      model = String(params.model);
      return { ...status, pid: 7, device: "cpu", seconds: 1 };
    },
    "session.close": async () => ({}),
    "session.generate": async ({ prompts, n }, { onEvent }) => {
      for (const [prompt] of (prompts as unknown[]).entries()) {
        for (let sample = 0; sample < Number(n); sample++) {
          const text = model === "right" ? String(prompt) : "\u001b[31m?";
          const counts = { promptTokens: 1, responseTokens: 1 };
          onEvent?.({ type: "sample", prompt, sample, text, finishReason: "stop", ...counts });
        }
      }
      return { cancelled: false };
    },
    score: async ({ rows }) => ({
      results: (rows as { response: string; groundTruth: string }[]).map((row) =>
        row.groundTruth === "fail"
          ? { kind: "failed", code: "threw", reason: "TypeError: no" }
          : scored(row.response === row.groundTruth ? 1 : 0),
      ),
    }),
  };
}

const scored = (value: number): object => ({ kind: "score", value, success: null, metrics: {} });

interface Streams {
  output: { write(text: string): boolean };
  status: null;
  onInterrupt(listener: () => void): () => void;
  leave(): void;
  parts: FakeParts;
  cwd: string;
  text(): string;
}

function streams(cwd: string): Streams {
  const written: string[] = [];
  return {
    output: { write: (text) => written.push(text) > 0 },
    status: null,
    onInterrupt: () => () => {},
    leave: () => {},
    parts: fakeParts(engineJobs()),
    cwd,
    text: () => written.join(""),
  };
}

const project = (truths: string[]): string =>
  tempFolder({
    "data.jsonl": truths.map((answer) => JSON.stringify({ question: "?", answer })).join("\n"),
  });

const evalArguments = (more: Partial<EvalArguments>): EvalArguments => ({
  model: "right",
  data: "data.jsonl",
  reward: "./r.ts",
  n: 2,
  device: "auto",
  ...more,
});

// The fake hook host runs no reward, so its file only has to load.
const rewardFile = {
  "r.ts": `import { defineReward } from "genenv";
import { z } from "zod";
export default defineReward({ name: "r", groundTruth: z.string(), score: () => 0 });`,
};

describe("genenv eval", () => {
  test("prints a table", async () => {
    const cwd = tempFolder({ ...rewardFile, "data.jsonl": '{"question":"?","answer":"0"}' });
    const out = streams(cwd);
    expect(await evalCommand(evalArguments({}), out)).toBe(0);
    expect(out.text()).toMatch(/^model {3}right\n/);
    expect(out.text()).toMatch(/\nall +1 +1\.000 +- +1\.000 +1\.000 /);
    expect(out.parts.open.size).toBe(0);
  });

  test("compares two models on the same problems, and writes a result file for each", async () => {
    const truths = ["0", "1", "2", "3", "4"];
    const cwd = project(truths);
    const out = streams(cwd);
    const reward = join(tempFolder(rewardFile), "r.ts");
    const options = { model: "wrong", compare: "right", out: "r/x.jsonl", json: true, reward };
    expect(await evalCommand(evalArguments(options), out)).toBe(0);
    const { first, second, comparison } = JSON.parse(out.text()) as {
      first: EvalReport;
      second: EvalReport;
      comparison: EvalComparison;
    };
    expect([first.overall.mean?.value, second.overall.mean?.value]).toEqual([0, 1]);
    // Five differences of 1: of 32 patterns of signs two are as far.
    expect(comparison.mean).toMatchObject({ pValue: 2 / 32, method: "exact" });
    expect(existsSync(join(cwd, "r/x.jsonl"))).toBe(true);
    expect(readFileSync(join(cwd, "r/x-compare.jsonl"), "utf8").split("\n")).toHaveLength(7);
  });

  test("fails where no response could be scored, with the first failure", async () => {
    const out = streams(project(["fail"]));
    const reward = join(tempFolder(rewardFile), "r.ts");
    expect(await evalCommand(evalArguments({ reward }), out)).toBe(1);
    expect(out.text()).toContain("failed: threw 2; the first: TypeError: no");
  });
});

describe("genenv generate", () => {
  const generateArguments = (more: Partial<GenerateArguments>): GenerateArguments => ({
    model: "m",
    n: 1,
    device: "auto",
    prompt: [],
    ...more,
  });

  test("prints each response below its prompt, without terminal escapes", async () => {
    const out = streams(tempFolder());
    expect(await generateCommand(generateArguments({ prompt: ["One", "Two"] }), out)).toBe(0);
    expect(out.text()).toBe("--- 1: One\n?\n\n--- 2: Two\n?\n\n");
  });

  test("prints a JSON object a response", async () => {
    const cwd = tempFolder({ "in.jsonl": '"a"\n\n{"prompt":"b"}\n' });
    const out = streams(cwd);
    await generateCommand(generateArguments({ in: "in.jsonl", n: 2, json: true }), out);
    const lines = out.text().trim().split("\n");
    const found = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(found.map(({ promptText, sample }) => [promptText, sample])).toEqual([
      ["a", 0],
      ["a", 1],
      ["b", 0],
      ["b", 1],
    ]);
  });

  test("takes texts and chats from the rows of a data file, whatever its format", async () => {
    const chat = [
      { role: "system", content: "Be short." },
      { role: "user", content: "c" },
    ];
    const cwd = tempFolder({
      "in.csv": "id,text\n1,a\n",
      "in.json": JSON.stringify([{ question: "b" }, { prompt: chat }]),
    });
    const seen: unknown[] = [];
    const jobs = engineJobs();
    const generateJob = jobs["session.generate"] as Job;
    const run = async (more: Partial<GenerateArguments>): Promise<string> => {
      const out = streams(cwd);
      const spy: Job = (params, options) => {
        seen.push(params.prompts);
        return generateJob(params, options);
      };
      out.parts = fakeParts({ ...jobs, "session.generate": spy });
      await generateCommand(generateArguments(more), out);
      return out.text();
    };
    await run({ in: "in.csv", promptKey: "text" });
    expect(await run({ in: "in.json" })).toContain("--- 2: Be short. c\n");
    expect(seen).toEqual([["a"], ["b", chat]]);
  });

  test("says that it was stopped, and has everything down", async () => {
    const out = streams(tempFolder());
    out.onInterrupt = (listener) => {
      setTimeout(listener, 20);
      return () => {};
    };
    const waiting: Job = (_params, { signal }) =>
      new Promise((resolve) => signal?.addEventListener("abort", () => resolve({})));
    out.parts = fakeParts({ ...engineJobs(), "session.generate": waiting });
    expect(await generateCommand(generateArguments({ prompt: ["One"] }), out)).toBe(1);
    expect(out.text()).toBe("stopped\n");
    expect(out.parts.open.size).toBe(0);
  });

  test("says what is wrong with its prompts", async () => {
    const cwd = tempFolder({ "empty.txt": "\n \n", "bad.jsonl": '"a"\n{"text":"b"}\n' });
    const wrong = async (more: Partial<GenerateArguments>): Promise<Error> =>
      rejectionOf(generateCommand(generateArguments(more), streams(cwd)));
    expect(await wrong({})).toBeInstanceOf(ConfigError);
    expect(await wrong({ prompt: ["a"], in: "empty.txt" })).toBeInstanceOf(ConfigError);
    expect(await wrong({ in: "none.txt" })).toMatchObject({ code: "data-missing" });
    expect(await wrong({ in: "empty.txt" })).toMatchObject({ code: "data-empty" });
    const bad = await wrong({ in: "bad.jsonl" });
    expect(bad).toMatchObject({ code: "bad-row" });
    expect(bad.message).toBe("row 2, prompt is not there, nor is question");
    const named = await wrong({ in: "bad.jsonl", promptKey: "text" });
    expect(named.message).toBe("row 1, text is not there");
  });
});
