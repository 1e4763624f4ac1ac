import { readdirSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { readOptions } from "./train/options.js";
import { genenvRun } from "./train/systems.js";
import { type Command, timeline } from "./train/timeline.js";
import { isEvent } from "./train/times.js";

const intervalMs = 2000;
// Epochs before this one still fill caches.
const settledEpoch = 5;

/** What a process is, by its command line, in the order of the first match. */
const kinds: [kind: string, pattern: RegExp][] = [
  ["trainer", /^ray::WorkerDict/],
  ["vLLM's server", /^ray::vLLMHttpServer/],
  ["vLLM's engine", /^VLLM::/],
  ["driver", /genenv\.role\.driver/],
  ["fork server", /genenv\.forkserver\.server/],
  ["other Ray actors", /^ray::/],
  ["Ray itself", /\/ray\//],
  ["hook host", /host-main/],
  ["control", /pythonia/],
  ["command line", /cli\/main\.js/],
];

interface Sample {
  epoch: number;
  totalMb: number;
  byKind: Map<string, number>;
}

interface Part {
  name: string;
  model: string;
  epochs: number;
  responses: number;
  overrides: string[];
  /** What its peak must stay below; the last part is about growth. */
  boundGb?: number;
}

const smollm2 = { model: "builtin:smollm2-135m", epochs: 2, responses: 8 };
const parts: Part[] = [
  { name: "memory-default-run", ...smollm2, overrides: [], boundGb: 16 },
  {
    name: "memory-default-run-plain-start",
    ...smollm2,
    overrides: ["genenv.fast_start=false"],
    boundGb: 20,
  },
  { name: "memory-growth", model: "builtin:tiny", epochs: 50, responses: 4, overrides: [] },
];

/**
 * `npm run bench:memory [-- --json] [-- --part NAME,NAME]`: proportional set size of a run's processes, every two
 * seconds, by kind of process at its peak. `ratio` is the bound over the peak, or where growth is looked at, the mean of
 * the first settled five epochs over that of the last five.
 */
export async function main(args: readonly string[], root: string): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { json: { type: "boolean" }, part: { type: "string" } },
  });
  const wanted = values.part?.split(",");
  for (const part of parts.filter(({ name }) => !wanted || wanted.includes(name))) {
    const line = await measure(part, root);
    if (values.json) {
      console.log(JSON.stringify(line));
      continue;
    }
    console.log(`${part.name}: ${part.model}, ${part.epochs} epochs, at most ${line.peakMb} MB`);
    for (const [kind, mb] of Object.entries(line.byKindMb)) console.log(`  ${kind}: ${mb} MB`);
    console.log(
      part.boundGb
        ? `  of ${part.boundGb} GB`
        : `  grown by ${((1 / line.ratio - 1) * 100).toFixed(1)} % since epoch ${settledEpoch}`,
    );
  }
  return 0;
}

interface Line {
  name: string;
  ratio: number;
  model: string;
  epochs: number;
  peakMb: number;
  byKindMb: Record<string, number>;
}

async function measure(part: Part, root: string): Promise<Line> {
  const { name, model, epochs, boundGb } = part;
  const samples = await sampleRun(part, root);
  const peak = samples.reduce((most, each) => (each.totalMb > most.totalMb ? each : most));
  const last = samples.at(-1)?.epoch ?? 0;
  const early = meanMb(samples, settledEpoch, settledEpoch + 5);
  // After the last epoch the run takes itself down.
  const late = meanMb(samples, last - 5, last);
  return {
    name,
    ratio: boundGb ? (boundGb * 1000) / peak.totalMb : early / late,
    ...{ model, epochs },
    peakMb: Math.round(peak.totalMb),
    byKindMb: Object.fromEntries([...peak.byKind].map(([kind, mb]) => [kind, Math.round(mb)])),
    ...(!boundGb && { earlyMb: Math.round(early), lateMb: Math.round(late) }),
  };
}

async function sampleRun(part: Part, root: string): Promise<Sample[]> {
  const { model, epochs, responses, overrides } = part;
  const defaults = { model, rounds: 1, steps: epochs, prompts: 8, responses };
  const { withWorkload } = await readOptions([], root, defaults);
  return withWorkload((work) => sampled(genenvRun(work, true, overrides)));
}

async function sampled(command: Command): Promise<Sample[]> {
  const samples: Sample[] = [];
  let epoch = 0;
  let timer: NodeJS.Timeout | null = null;
  try {
    await timeline(command, [0], ({ text }, child) => {
      timer ??= setInterval(() => samples.push(sample(child.pid ?? 0, epoch)), intervalMs);
      if (isEvent(text, { type: "phase", phase: "epoch-end" })) {
        epoch = (JSON.parse(text) as { epoch: number }).epoch;
      }
    });
  } finally {
    if (timer) clearInterval(timer);
  }
  if (samples.length === 0) throw new Error("the run was over before its memory was looked at");
  return samples;
}

function sample(root: number, epoch: number): Sample {
  const byKind = new Map<string, number>();
  for (const pid of [root, ...below(root)]) {
    const command = read(`/proc/${pid}/cmdline`).replaceAll("\0", " ");
    const kind = kinds.find(([, pattern]) => pattern.test(command))?.[0] ?? "others";
    const kib = Number(/^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0);
    byKind.set(kind, (byKind.get(kind) ?? 0) + (kib * 1024) / 1e6);
  }
  const totalMb = [...byKind.values()].reduce((sum, mb) => sum + mb, 0);
  return { epoch, totalMb, byKind };
}

/** Mean of the samples in epochs from `from` up to, not including, `to`; NaN where the run was shorter. */
function meanMb(samples: readonly Sample[], from: number, to: number): number {
  const within = samples.filter(({ epoch }) => epoch >= from && epoch < to);
  return within.reduce((sum, { totalMb }) => sum + totalMb, 0) / within.length;
}

function below(root: number): number[] {
  const parents = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => {
      const stat = read(`/proc/${name}/stat`);
      return [Number(name), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1])] as const;
    });
  const children = (of: number): number[] =>
    parents.filter(([, parent]) => parent === of).flatMap(([pid]) => [pid, ...children(pid)]);
  return children(root);
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    // Its process has just ended.
    return "";
  }
}
