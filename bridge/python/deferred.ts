/** A promise with its two ends in hand (Promise.withResolvers, which Node 20 doesn't have). */
export interface Deferred<T> {
  promise: Promise<T>;
  resolve(value: T): void;
  reject(error: unknown): void;
}

export function createDeferred<T>(): Deferred<T> {
  const deferred = {} as Deferred<T>;
  deferred.promise = new Promise<T>((resolve, reject) => {
    deferred.resolve = resolve;
    deferred.reject = reject;
  });
  return deferred;
}

/** What `promise` gives, or a rejection after `ms` with the message that `describe` makes. */
export async function withTimeout<T>(
  promise: Promise<T>,
  ms: number,
  describe: () => Error,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(describe()), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
