import type { RunEvent } from "../run/events.js";
import { newProgress, track } from "./progress-state.js";
import { formatEvent, formatStatus } from "./progress-text.js";

/** Where progress goes: a terminal, a pipe, or a test. */
export interface Output {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
}

export interface Progress {
  show(event: RunEvent): void;
  /** A line of our own, above the status. */
  say(line: string): void;
  end(): void;
}

const clearLine = "\r\u001b[2K";

/**
 * Progress on an output: on a terminal a status line at the bottom that moves every second, with one line that stays
 * for each epoch, validation, checkpoint and warning; elsewhere those lines alone.
 */
export function showProgress(
  output: Output,
  totalEpochs: number,
  now: () => number = Date.now,
): Progress {
  let state = newProgress(totalEpochs, now());
  const live = output.isTTY === true;
  const drawStatus = (): void => {
    if (live) output.write(clearLine + toWidth(formatStatus(state, now()), output.columns ?? 80));
  };
  const say = (line: string): void => {
    output.write(`${live ? clearLine : ""}${line}\n`);
    drawStatus();
  };
  const timer = live ? setInterval(drawStatus, 1000) : null;
  timer?.unref();
  return {
    say,
    show(event) {
      state = track(state, event, now());
      const line = formatEvent(event, state, now());
      if (line === null) drawStatus();
      else say(line);
    },
    end() {
      if (timer) clearInterval(timer);
      if (live) output.write(clearLine);
    },
  };
}

function toWidth(text: string, columns: number): string {
  return text.length < columns ? text : `${text.slice(0, Math.max(0, columns - 2))}…`;
}
