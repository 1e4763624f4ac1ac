import { readdirSync, readFileSync } from "node:fs";
import { readOptions } from "./train/options.js";
import { genenvRun, type Workload } from "./train/systems.js";
import { timeline } from "./train/timeline.js";
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

/**
 * `npm run bench:memory [-- --json] [-- --model NAME --steps EPOCHS]`: proportional set size of a run's processes, every
 * two seconds: its peak by kind of process, and the mean of the last five epochs over that of the first settled five.
 */
export async function main(args: readonly string[], root: string): Promise<number> {
  const defaults = { model: "builtin:tiny", rounds: 1, steps: 50, prompts: 8, responses: 4 };
  const { json, model, withWorkload } = await readOptions(args, root, defaults);
  const samples = await withWorkload(sampleRun);
  const peak = samples.reduce((most, each) => (each.totalMb > most.totalMb ? each : most));
  const last = samples.at(-1)?.epoch ?? 0;
  const early = meanMb(samples, settledEpoch, settledEpoch + 5);
  const late = meanMb(samples, last - 4, last + 1);
  const figures = {
    model,
    epochs: last,
    peakMb: Math.round(peak.totalMb),
    earlyMb: early,
    lateMb: late,
    byKindMb: Object.fromEntries([...peak.byKind].map(([kind, mb]) => [kind, Math.round(mb)])),
  };
  if (json)
    console.log(
      JSON.stringify({ name: "memory-early-over-late", ratio: early / late, ...figures }),
    );
  else {
    console.log(`${model}, ${last} epochs: at most ${figures.peakMb} MB`);
    for (const [kind, mb] of Object.entries(figures.byKindMb)) console.log(`  ${kind}: ${mb} MB`);
    console.log(`grown by ${((late / early - 1) * 100).toFixed(1)} % since epoch ${settledEpoch}`);
  }
  return 0;
}

async function sampleRun(work: Workload): Promise<Sample[]> {
  const samples: Sample[] = [];
  let epoch = 0;
  let timer: NodeJS.Timeout | null = null;
  try {
    await timeline(genenvRun(work, true), [0], ({ text }, child) => {
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
