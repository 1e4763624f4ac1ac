import { createLogUpdate } from "log-update";
import { newLive, trackLive } from "./live-state.js";
import { formatPanel } from "./live-text.js";
import type { Progress } from "./progress.js";
import { formatEvent } from "./progress-text.js";

// Events come in bursts; a person sees no more than this.
const frameMs = 100;

/** True for a terminal that a panel suits: not in CI, and colours wanted. */
export function suitsPanel(output: { isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean {
  const plain = env.CI || env.NO_COLOR || env.TERM === "dumb";
  return output.isTTY === true && !plain;
}

/** Progress as a panel at the bottom of a terminal, redrawn in place; lines that stay go above it. */
export function showPanel(
  stream: NodeJS.WriteStream,
  totalEpochs: number,
  now: () => number = Date.now,
): Progress {
  const panel = createLogUpdate(stream, { showCursor: true });
  let state = newLive(totalEpochs, now());
  let drawnMs = 0;
  let ended = false;
  const draw = (): void => {
    drawnMs = now();
    panel(formatPanel(state, drawnMs, stream.columns ?? 80));
  };
  const say = (line: string): void => {
    panel.clear();
    stream.write(`${line}\n`);
    if (!ended) draw();
  };
  const timer = setInterval(draw, 1000);
  timer.unref();
  return {
    say,
    show(event) {
      state = trackLive(state, event, now());
      const line = formatEvent(event, state.progress, now());
      if (line !== null) say(line);
      else if (now() - drawnMs >= frameMs) draw();
    },
    end() {
      if (ended) return;
      ended = true;
      clearInterval(timer);
      panel.clear();
    },
  };
}
