import {
  appendFileSync,
  copyFileSync,
  existsSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { loadRun, type RunRollout } from "../../../sdk/load-run.js";
import { writeReportAtEnd } from "../../../sdk/report/at-end.js";
import { newPacker } from "../../../sdk/report/chunks.js";
import type { ReportData, RolloutChunk } from "../../../sdk/report/data.js";
import { toHtml, toScriptJson } from "../../../sdk/report/html.js";
import { largestNumber } from "../../../sdk/report/page/curriculum.js";
import { writeReport } from "../../../sdk/report/write.js";
import { rejectionOf, tempFolder } from "../temp.js";
import { writeBigRun } from "./big-run.js";

async function smallRun(text?: string): Promise<string> {
  const cwd = tempFolder();
  const size = { epochs: 2, tasksPerEpoch: 10, responsesPerTask: 3 };
  await writeBigRun(join(cwd, "runs", "one"), { ...size, text });
  return cwd;
}

/** The data in a report's page. */
function dataOf(file: string): ReportData {
  const html = readFileSync(file, "utf8");
  const text = /<script type="application\/json" id="data">(.*?)<\/script>/s.exec(html)?.[1];
  return JSON.parse(text ?? "") as ReportData;
}

const unpack = (chunk: string | undefined): RolloutChunk =>
  JSON.parse(gunzipSync(Buffer.from(chunk ?? "", "base64")).toString()) as RolloutChunk;

describe("loadRun", () => {
  test("gives configuration, metrics, ledger and rollouts, typed", async () => {
    const run = await loadRun("one", { cwd: await smallRun() });
    expect(run).toMatchObject({ name: "one", config: { genenv: { alpha: 0.5 } } });
    expect(run.metrics.map(({ epoch, phase }) => `${epoch} ${phase}`)).toEqual([
      "0 validation",
      "1 agent",
      "1 environment",
      "2 agent",
      "2 environment",
    ]);
    expect(run.tasks).toHaveLength(20);
    expect(run.tasks.find((task) => task.task === "e2-a5-t0")).toMatchObject({
      parent: "e2-a5",
      parentSeeds: ["seed-1", "seed-11"],
      writtenEpoch: 2,
      groundTruth: '"7"',
      kept: true,
    });
    const rollouts: RunRollout[] = [];
    for await (const rollout of run.rollouts()) rollouts.push(rollout);
    // Nine tasks with three responses and nine answers, in each of two epochs.
    expect(rollouts).toHaveLength(72);
    expect(rollouts.find((row) => row.role === "agent")).toMatchObject({
      metrics: { digits: 2 },
      responseTokens: 12,
    });
  });

  test("reads the epochs of a long run that have ledgers of their own", async () => {
    const cwd = await smallRun();
    const dir = join(cwd, "runs", "one");
    renameSync(join(dir, "tasks.parquet"), join(dir, "tasks-000002.parquet"));
    expect((await loadRun("one", { cwd })).tasks).toHaveLength(20);
    copyFileSync(join(dir, "tasks-000002.parquet"), join(dir, "tasks.parquet"));
    writeFileSync(join(dir, "tasks-mine.parquet"), "not ours");
    expect((await loadRun("one", { cwd })).tasks).toHaveLength(40);
  });

  test("takes whole lines alone, and the later of two for one epoch", async () => {
    const cwd = await smallRun();
    const file = join(cwd, "runs", "one", "metrics.jsonl");
    const again = { time: 1, epoch: 2, step: 2, phase: "agent", "agent/reward_mean": 9 };
    appendFileSync(file, `${JSON.stringify(again)}\n{"time": 2, "ep`);
    const { metrics } = await loadRun("one", { cwd });
    const second = metrics.filter(({ epoch, phase }) => epoch === 2 && phase === "agent");
    expect(second.map(({ values }) => values["agent/reward_mean"])).toEqual([9]);
  });

  test("names file and row of what is no metric", async () => {
    const cwd = await smallRun();
    const file = join(cwd, "runs", "one", "metrics.jsonl");
    appendFileSync(file, '{"time": 2, "epoch": "x", "step": 1, "phase": "agent"}\n');
    const error = await rejectionOf(loadRun("one", { cwd }));
    expect(error).toMatchObject({ code: "bad-run-file", place: { file } });
    expect(error.message).toMatch(/^row 6: epoch: /);
  });

  test("reads a run that has only begun", async () => {
    const cwd = tempFolder({ "runs/new/config.yaml": "genenv: {}\n" });
    expect(await loadRun("new", { cwd })).toMatchObject({ metrics: [], tasks: [] });
  });
});

describe("the page's data", () => {
  test("can't end its script element, whatever a model wrote", async () => {
    const hostile = "</script><script>alert(1)</script>\u2028<!--";
    expect(toScriptJson({ hostile })).not.toMatch(/[<>\u2028\u2029]/);
    expect(JSON.parse(toScriptJson({ hostile }))).toEqual({ hostile });
    const file = await writeReport(["one"], { cwd: await smallRun(hostile) });
    const html = readFileSync(file, "utf8");
    expect(html.match(/<script/g)).toHaveLength(2);
    expect(html.match(/<\/script/g)).toHaveLength(2);
  });

  test("holds each task's rollouts in the chunk it names, and the answer it came from", async () => {
    const [run] = dataOf(await writeReport(["one"], { cwd: await smallRun("I say") })).runs;
    const place = run?.tasks.id.indexOf("e2-a5-t0") ?? -1;
    const chunk = unpack(run?.chunks[run.tasks.chunk[place] ?? -1]);
    expect(chunk["e2-a5-t0"]?.map(({ response }) => response)).toEqual([
      "I say 0",
      "I say 1",
      "I say 2",
    ]);
    const answers = unpack(run?.chunks[run.answerChunks["2"] ?? -1]);
    expect(answers["e2-a5"]?.[0]?.response).toMatch(/^Here is one: What is/);
    expect(run?.rolloutsLeftOut).toBe(0);
  });

  test("leaves rollouts out where there is no room, and counts them", async () => {
    const limits = { textChars: 3, totalBytes: 1200, tasksPerChunk: 2 };
    const file = await writeReport(["one"], { cwd: await smallRun("long text"), limits });
    const [run] = dataOf(file).runs;
    const held = (run?.chunks ?? []).flatMap((chunk) => Object.values(unpack(chunk)).flat());
    expect(run?.rolloutsLeftOut).toBeGreaterThan(0);
    expect(held.length + (run?.rolloutsLeftOut ?? 0)).toBe(72);
    expect(run?.tasks.chunk).toContain(-1);
  });

  test("a text that is too long is cut, and says how much is missing", () => {
    const packer = newPacker({ textChars: 4, totalBytes: 10_000, tasksPerChunk: 10 });
    const rollout = { role: "agent", phase: "train", task: "t", epoch: 1, sample: 0 } as RunRollout;
    packer.add({ ...rollout, response: "123456789" });
    expect(unpack(packer.finish().chunks[0]).t?.[0]?.response).toBe("1234\n… (5 more)");
  });

  test("a run's name is text in the title", () => {
    const data = { version: "1", writtenMs: 0, runs: [{ name: "<b>" }] } as unknown as ReportData;
    const html = toHtml(data, { script: "", style: "" });
    expect(html).toContain("<title>genenv: &#60;b&#62;</title>");
  });
});

describe("the end of a run", () => {
  const atEnd = async (dir: string): Promise<string[]> => {
    const warnings: string[] = [];
    await writeReportAtEnd(dir, (code, message) => warnings.push(`${code}: ${message}`));
    return warnings;
  };

  test("writes the report into its folder", async () => {
    const dir = join(await smallRun(), "runs", "one");
    expect(await atEnd(dir)).toEqual([]);
    expect(dataOf(join(dir, "report.html")).runs[0]?.name).toBe("one");
  });

  test("with nothing to show writes none", async () => {
    const dir = tempFolder({ "config.yaml": "genenv: {}" });
    expect(await atEnd(dir)).toEqual([]);
    expect(existsSync(join(dir, "report.html"))).toBe(false);
  });

  test("with a broken ledger is a warning that says why and what to do", async () => {
    const dir = join(await smallRun(), "runs", "one");
    writeFileSync(join(dir, "tasks.parquet"), "no parquet");
    const [warning = ""] = await atEnd(dir);
    expect(warning).toMatch(
      /^report-failed: the run's report was not written: .*; try genenv report$/,
    );
  });
});

test("the largest number of a prompt reads commas and decimals, and none is null", () => {
  expect(largestNumber("What is 7 + 1,250.5?")).toBe(1250.5);
  expect(largestNumber("Say nothing")).toBeNull();
});
