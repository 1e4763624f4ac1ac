import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { HookError, WorkerError } from "../../../bridge/errors.js";
import type { CallOptions } from "../../../bridge/python/session.js";
import { defineReward } from "../../../sdk/define.js";
import { evaluate } from "../../../sdk/evaluate.js";
import { generate } from "../../../sdk/generate.js";
import { openSession } from "../../../sdk/session.js";
import { fakeParts } from "../run/fake-parts.js";
import { rejectionOf, tempFolder } from "../temp.js";

type Job = (params: Record<string, unknown>, options: CallOptions) => Promise<unknown>;

const status = { maxModelTokens: 64, running: 0, samples: 0, responseTokens: 0, upSeconds: 1 };

/** An engine that answers each prompt with its number. */
const engineJobs: Record<string, Job> = {
  "session.open": async () => ({ ...status, pid: 7, device: "cpu", seconds: 1 }),
  "session.status": async () => status,
  "session.close": async () => ({}),
  "session.generate": async ({ prompts, n, skip }, { onEvent }) => {
    (prompts as unknown[]).forEach((_, prompt) => {
      for (let sample = 0; sample < Number(n); sample++) {
        if ((skip as number[]).includes(prompt)) continue;
        onEvent?.(sampleEvent(prompt, sample));
      }
    });
    return { cancelled: false };
  },
  score: async ({ rows }) => ({
    results: (rows as { response: string; groundTruth: string }[]).map((row) => ({
      kind: "score",
      value: row.response === row.groundTruth ? 1 : 0,
      success: null,
      metrics: {},
      code: null,
      reason: null,
    })),
  }),
};

const sampleEvent = (prompt: number, sample: number): Record<string, unknown> => ({
  type: "sample",
  prompt,
  sample,
  text: String(prompt),
  finishReason: "stop",
  promptTokens: 3,
  responseTokens: 1,
});

/** Ends when it is cancelled, after a first sample. */
const endless: Job = (_params, { signal, onEvent }) =>
  new Promise((resolve) => {
    onEvent?.(sampleEvent(0, 0));
    signal?.addEventListener("abort", () => resolve({ cancelled: true }));
  });

const reward = defineReward({ name: "same", groundTruth: z.string(), score: () => 1 });

const problems = [0, 1, 2].map((i) =>
  JSON.stringify({ question: `${i}?`, answer: i < 2 ? `${i}` : "x" }),
);
const project = (): string => tempFolder({ "data.jsonl": problems.join("\n") });

describe("a session", () => {
  test("streams samples and has everything down when it is closed", async () => {
    const parts = fakeParts(engineJobs);
    const session = await openSession({ model: "builtin:tiny" }, { parts, logDir: project() });
    const texts: string[] = [];
    for await (const { text } of session.generate({ prompts: ["a", "b"], n: 2 })) texts.push(text);
    expect(texts).toEqual(["0", "0", "1", "1"]);
    expect(session).toMatchObject({ model: "builtin:tiny", modelPath: "/models/tiny", pid: 7 });
    await session.close();
    await session.close();
    expect(parts.open.size).toBe(0);
    expect(parts.calls.map(({ method }) => method)).toEqual([
      "session.open",
      "session.generate",
      "session.close",
    ]);
  });

  test("that can't be opened leaves nothing up", async () => {
    const failing: Job = async () => {
      throw new WorkerError("the engine's process ended", { code: "engine-died" });
    };
    const parts = fakeParts({ ...engineJobs, "session.open": failing });
    const error = await rejectionOf(
      openSession({ model: "builtin:tiny" }, { parts, logDir: project() }),
    );
    expect(error).toMatchObject({ code: "engine-died" });
    expect(parts.open.size).toBe(0);
  });

  test("cancels its job where the loop is left", async () => {
    const parts = fakeParts({ ...engineJobs, "session.generate": endless });
    const samples = generate({ model: "m", prompts: ["a"], parts, logDir: project() });
    for await (const sample of samples) {
      expect(sample.text).toBe("0");
      break;
    }
    expect(parts.open.size).toBe(0);
  });

  test("throws the signal's reason where it is aborted, before and during", async () => {
    const parts = fakeParts({ ...engineJobs, "session.generate": endless });
    const session = await openSession({ model: "m" }, { parts, logDir: project() });
    const stopping = new AbortController();
    const run = async (): Promise<void> => {
      for await (const _ of session.generate({ prompts: ["a"], signal: stopping.signal })) {
        stopping.abort(new Error("enough"));
      }
    };
    await expect(run()).rejects.toThrowError("enough");
    await expect(run()).rejects.toThrowError("enough");
    await session.close();
  });

  test("refuses an event that is no sample", async () => {
    const strange: Job = async (_params, { onEvent }) => {
      onEvent?.({ type: "sample", prompt: "first" });
      return {};
    };
    const parts = fakeParts({ ...engineJobs, "session.generate": strange });
    const samples = generate({ model: "m", prompts: ["a"], parts, logDir: project() });
    await expect(samples.next()).rejects.toMatchObject({ code: "bad-message" });
  });
});

describe("an evaluation", () => {
  test("scores every problem, and goes on from its result file", async () => {
    const cwd = project();
    const parts = fakeParts(engineJobs);
    const options = {
      model: "m",
      data: "data.jsonl",
      reward,
      n: 2,
      out: "out/r.jsonl",
      cwd,
      parts,
    };
    const first = await evaluate({ ...options, logDir: cwd });
    expect(first.overall.mean?.value).toBeCloseTo(2 / 3, 12);
    expect(first.data).toBe(join(cwd, "data.jsonl"));
    const again = await evaluate({ ...options, logDir: cwd });
    expect(again).toEqual(first);
    const skips = parts.calls.flatMap(({ method, params }) =>
      method === "session.generate" ? [params.skip] : [],
    );
    expect(skips).toEqual([[], [0, 1, 2]]);
    expect(parts.open.size).toBe(0);
  });

  test("finds a ground truth that the reward refuses before the model is loaded", async () => {
    const cwd = project();
    const parts = fakeParts(engineJobs);
    const numbers = defineReward({ name: "n", groundTruth: z.number(), score: () => 1 });
    const options = { model: "m", data: "data.jsonl", reward: numbers, cwd, parts };
    await expect(evaluate(options)).rejects.toMatchObject({ code: "bad-row" });
    expect(parts.calls).toEqual([]);
    expect(parts.open.size).toBe(0);
  });

  test("stops generating when scoring fails, and keeps what is scored", async () => {
    const failing: Job = async () => {
      throw new HookError("the host stays away", { code: "hook-host-unreachable" });
    };
    const slow: Job = async (params, options) => {
      options.onEvent?.(sampleEvent(0, 0));
      return endless(params, { ...options, onEvent: () => {} });
    };
    const cwd = project();
    const parts = fakeParts({ ...engineJobs, score: failing, "session.generate": slow });
    const options = { model: "m", data: "data.jsonl", reward, cwd, parts, logDir: cwd };
    await expect(evaluate(options)).rejects.toMatchObject({ code: "hook-host-unreachable" });
    expect(parts.open.size).toBe(0);
  });

  test("refuses wrong settings before anything is started", async () => {
    const cwd = project();
    const parts = fakeParts(engineJobs);
    const options = { model: "m", data: "data.jsonl", reward, n: 0, cwd, parts };
    await expect(evaluate(options)).rejects.toMatchObject({ code: "bad-value" });
    expect(parts.hosts).toEqual([]);
  });
});
