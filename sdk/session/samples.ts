import type { PythonSession } from "../../bridge/python/session.js";
import { type Generated, parseSample } from "./messages.js";

export interface SampleRequest {
  python: Pick<PythonSession, "call">;
  params: object;
  signal: AbortSignal | null;
}

/**
 * The samples of a "session.generate", each when it is finished. It begins with the first turn of the loop; leaving
 * the loop early, or `signal`, cancels what is under way. An aborted one throws the signal's reason.
 */
export async function* streamSamples(
  request: SampleRequest,
): AsyncGenerator<Generated, void, undefined> {
  const left = new AbortController();
  const signal = request.signal ? AbortSignal.any([left.signal, request.signal]) : left.signal;
  request.signal?.throwIfAborted();
  const queue: Generated[] = [];
  let wake = (): void => {};
  let ended = false;
  const job = request.python.call("session.generate", request.params, {
    signal,
    onEvent: (event) => {
      queue.push(parseSample(event));
      wake();
    },
  });
  const settled = job.then(
    () => {},
    () => {},
  );
  void settled.then(() => {
    ended = true;
    wake();
  });
  try {
    for (;;) {
      request.signal?.throwIfAborted();
      const sample = queue.shift();
      if (sample) yield sample;
      else if (ended) break;
      else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
    await job;
  } finally {
    left.abort();
    await settled;
  }
}
