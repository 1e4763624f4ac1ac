export interface Batcher<T> {
  add(item: T): void;
  /** Resolves when everything added has been worked on, or the work has failed. */
  settled(): Promise<void>;
}

/**
 * Works on what has come while it was busy, as one batch: items that come fast are worked on in large batches, and
 * none waits for others. A failure aborts `failing` with its error, and what comes after it is dropped.
 */
export function createBatcher<T>(
  work: (items: T[]) => Promise<void>,
  failing: AbortController,
): Batcher<T> {
  let waiting: T[] = [];
  let busy: Promise<void> | null = null;

  async function drain(): Promise<void> {
    try {
      while (waiting.length > 0 && !failing.signal.aborted) {
        const batch = waiting;
        waiting = [];
        await work(batch);
      }
    } catch (error) {
      failing.abort(error);
    } finally {
      busy = null;
    }
  }

  return {
    add: (item) => {
      waiting.push(item);
      busy ??= drain();
    },
    settled: async () => {
      while (busy) await busy;
    },
  };
}
