// What a run tells before anybody listens is kept, but not for ever.
const backlogLimit = 10_000;

type Item<T> = { value: T } | { end: { error: unknown } | null };

/**
 * Events for any number of async iterators. The first one gets what came before it, the last 10,000 of it;
 * each later one what comes from then on. The end, and a failure, reach them all.
 */
export class EventStream<T> implements AsyncIterable<T> {
  private backlog: Item<T>[] = [];
  private ending: Item<T> | null = null;
  private started = false;
  private readonly readers = new Set<(item: Item<T>) => void>();

  push(value: T): void {
    if (!this.ending) this.send({ value });
  }

  /** Ends every iterator, with an error where one is given. Only the first ending counts. */
  end(failure: { error: unknown } | null = null): void {
    if (this.ending) return;
    this.ending = { end: failure };
    this.send(this.ending);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    const queue: Item<T>[] = this.takeBacklog();
    let wake = (): void => {};
    const reader = (item: Item<T>): void => {
      queue.push(item);
      wake();
    };
    this.readers.add(reader);
    try {
      for (;;) {
        const item = queue.shift();
        if (!item) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        } else if ("value" in item) yield item.value;
        else if (item.end) throw item.end.error;
        else return;
      }
    } finally {
      this.readers.delete(reader);
    }
  }

  private takeBacklog(): Item<T>[] {
    const backlog = this.started ? (this.ending ? [this.ending] : []) : this.backlog;
    this.started = true;
    this.backlog = [];
    return backlog;
  }

  private send(item: Item<T>): void {
    if (!this.started) {
      this.backlog.push(item);
      if ("value" in item && this.backlog.length > backlogLimit) this.backlog.shift();
    }
    for (const reader of this.readers) reader(item);
  }
}
