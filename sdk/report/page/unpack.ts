import type { ReportRollout, ReportRun, RolloutChunk } from "../data.js";

const unpacked = new WeakMap<ReportRun, Map<number, Promise<RolloutChunk>>>();

/** The responses to a task in an epoch, or an answer of the environment's; [] where they are not in this file. */
export async function rolloutsOf(
  run: ReportRun,
  chunk: number | undefined,
  id: string,
): Promise<ReportRollout[]> {
  if (chunk === undefined || chunk < 0) return [];
  const known = unpacked.get(run) ?? new Map<number, Promise<RolloutChunk>>();
  unpacked.set(run, known);
  const found = known.get(chunk) ?? unpack(run.chunks[chunk] ?? "");
  known.set(chunk, found);
  const rows = await found;
  return Object.hasOwn(rows, id) ? (rows[id] ?? []) : [];
}

async function unpack(text: string): Promise<RolloutChunk> {
  const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text()) as RolloutChunk;
}
