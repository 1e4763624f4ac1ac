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

/** A signal that the first Ctrl-C aborts; the second leaves at once. */
export function interruptSignal({ onInterrupt, leave }: CommandStreams): {
  signal: AbortSignal;
  release(): void;
} {
  const controller = new AbortController();
  const release = onInterrupt(() => {
    if (controller.signal.aborted) leave();
    else controller.abort();
  });
  return { signal: controller.signal, release };
}
