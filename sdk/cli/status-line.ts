import { exitCode } from "./exit.js";
import type { Output } from "./progress.js";
import { toSafeText } from "./progress-text.js";

/** What a command that is waited for talks to. */
export interface CommandStreams {
  output: Output;
  /** Where a moving line may go: a terminal, else null. */
  status: Output | null;
  /** Calls back on each Ctrl-C (or termination); returns how to stop listening. */
  onInterrupt(listener: () => void): () => void;
  /** Ends this process at once. */
  leave(): void;
}

export interface StatusLine {
  show(text: string): void;
  end(): void;
}

const everyMs = 100;

/** One line that is written over; nothing where there is no terminal. */
export function statusLine(status: Output | null): StatusLine {
  let lastMs = 0;
  return {
    show: (text) => {
      if (!status || Date.now() - lastMs < everyMs) return;
      lastMs = Date.now();
      status.write(`\r\u001b[K${toSafeText(text).slice(0, 100)}`);
    },
    end: () => {
      status?.write("\r\u001b[K");
    },
  };
}

/**
 * Runs `work` with a signal that the first Ctrl-C aborts; the second leaves at once. What is stopped so says so and
 * counts as failed.
 */
export async function interruptible(
  { output, onInterrupt, leave }: CommandStreams,
  options: { json?: boolean },
  work: (signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const controller = new AbortController();
  const release = onInterrupt(() => {
    if (controller.signal.aborted) leave();
    else controller.abort();
  });
  try {
    return await work(controller.signal);
  } catch (error) {
    if (!controller.signal.aborted) throw error;
    output.write(options.json ? '{"type":"stopped"}\n' : "stopped\n");
    return exitCode.failed;
  } finally {
    release();
  }
}
