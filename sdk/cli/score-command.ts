import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { ConfigError, formatError } from "../../bridge/errors.js";
import { keepCases } from "../score/kept-cases.js";
import { openResultFile } from "../score/result-file.js";
import { openRewardHost, type RewardHost } from "../score/reward-host.js";
import { type ScanResult, scan } from "../score/scan.js";
import { openSource, type ScoreRequest, type ScoreSource } from "../score/source.js";
import { exitCode } from "./exit.js";
import type { Output } from "./progress.js";
import { toSafeText } from "./progress-text.js";
import { formatChanges, formatSummary } from "./score-text.js";
import { type CommandStreams, interruptible } from "./status-line.js";

/** What `genenv score` takes, as commander gives it. */
export interface ScoreArguments extends ScoreRequest {
  out?: string;
  watch?: boolean;
  json?: boolean;
  debug?: boolean;
}

/** `genenv score`: a reward on recorded responses, without Python and without a model. */
export async function scoreCommand(
  options: ScoreArguments,
  streams: Omit<CommandStreams, "status"> & { cwd?: string },
): Promise<number> {
  const { output, cwd = process.cwd() } = streams;
  const found = await openSource(options, cwd);
  const source = options.watch === true ? keepCases(found) : found;
  return interruptible({ ...streams, status: null }, options, async (signal) => {
    const scorer = new Scorer(source, options, cwd);
    // What is under way is of no use then, and may take its whole deadline.
    signal.addEventListener("abort", () => scorer.abandon(), { once: true });
    try {
      if (options.watch !== true) return await scorer.score(output, signal);
      await watch({ source, scorer, options, output, cwd, signal });
      return exitCode.done;
    } finally {
      await scorer.close();
    }
  });
}

/** A reward's host, and the cases that it scores; the host stays up from one scan to the next. */
class Scorer {
  readonly #source: ScoreSource;
  readonly #options: ScoreArguments;
  readonly #cwd: string;
  readonly #logs = mkdtempSync(join(tmpdir(), "genenv-score-"));
  #host: RewardHost | null = null;
  #readTo = 0;

  constructor(source: ScoreSource, options: ScoreArguments, cwd: string) {
    this.#source = source;
    this.#options = options;
    this.#cwd = cwd;
  }

  /** Scores every case with the reward as its file is now; gives the exit code. */
  async score(output: Output, signal: AbortSignal): Promise<number> {
    const { out, json } = this.#options;
    const host = await this.#freshHost();
    const file = out === undefined ? null : openResultFile(resolve(this.#cwd, out));
    try {
      const cases = this.#source.cases(host.uses);
      const result = await scan(host.client, cases, (...got) => file?.write(...got), signal);
      await file?.finish();
      output.write(json ? jsonText(host.name, result) : plainText(host.name, result));
      const printed = this.#printed();
      if (!json) output.write(printed);
      return result.failures > 0 ? exitCode.failed : exitCode.done;
    } finally {
      file?.discard();
    }
  }

  abandon(): void {
    this.#host?.client.close();
  }

  async close(): Promise<void> {
    await this.#host?.close();
    rmSync(this.#logs, { recursive: true, force: true });
  }

  async #freshHost(): Promise<RewardHost> {
    if (this.#host !== null) {
      await this.#host.reload();
      return this.#host;
    }
    const { reward, limits } = this.#source;
    const expectReload = this.#options.watch === true;
    const options = { reward, limits, projectDir: this.#cwd, logFile: this.#logFile, expectReload };
    this.#host = await openRewardHost(options);
    return this.#host;
  }

  get #logFile(): string {
    return join(this.#logs, "hooks.log");
  }

  /** The first lines that the reward itself has printed since this was asked last. */
  #printed(): string {
    const text = readFileSync(this.#logFile, { encoding: "utf8", flag: "a+" });
    const lines = text.slice(this.#readTo).split("\n").filter(Boolean);
    this.#readTo = text.length;
    if (lines.length === 0) return "";
    const more = lines.length > shownLines ? [`and ${lines.length - shownLines} more lines`] : [];
    const shown = ["the reward printed:", ...lines.slice(0, shownLines), ...more];
    return `${shown.map(toSafeText).join("\n  ")}\n`;
  }
}

function plainText(reward: string, { summary, changes }: ScanResult): string {
  const text = `${formatSummary(reward, summary)}\n`;
  return changes === null ? text : `${text}${formatChanges(changes, summary.mean)}\n`;
}

const jsonText = (reward: string, { summary, changes }: ScanResult): string =>
  `${JSON.stringify({ type: "score", reward, ...summary, changes })}\n`;

const shownLines = 20;

interface Watching {
  source: ScoreSource;
  scorer: Scorer;
  options: ScoreArguments;
  output: Output;
  cwd: string;
  signal: AbortSignal;
}

/** Scans at each save of the reward, of what it imports or of the cases, until it is interrupted. */
async function watch({ source, scorer, options, output, cwd, signal }: Watching): Promise<void> {
  const say = (line: string): void => {
    if (!options.json) output.write(`${line}\n`);
  };
  const [path = ""] = source.reward.split("#");
  if (path.startsWith("builtin:")) {
    throw new ConfigError(`--watch needs a reward in a file, and ${path} is none`, {
      code: "bad-option",
      place: { at: "--watch" },
    });
  }
  const { watchHook } = await import("../../bridge/hooks/watch.js");
  let wake = (): void => {};
  let isStale = true;
  const onSave = (): void => {
    isStale = true;
    wake();
  };
  const others = source.file === null ? [] : [source.file];
  const watcher = await watchHook(path, { projectDir: cwd, others, onSave });
  signal.addEventListener("abort", () => wake());
  try {
    while (!signal.aborted) {
      if (isStale) {
        isStale = false;
        await scorer.score(output, signal).catch((error: unknown) => {
          if (!signal.aborted) say(toSafeText(formatError(error, options)));
        });
        if (!signal.aborted) say("waiting for the next save (Ctrl-C ends)");
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (isStale || signal.aborted) resolve();
      });
    }
  } finally {
    await watcher.close();
  }
}
