/**
 * Does two things at once. Where one fails, the other is told by its signal; both have settled when this does, and the
 * error is the first.
 */
export async function together<A, B>(
  signal: AbortSignal,
  first: (signal: AbortSignal) => Promise<A>,
  second: (signal: AbortSignal) => Promise<B>,
): Promise<[A, B]> {
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const fail = (error: unknown): never => {
    failed.abort(error);
    throw error;
  };
  const both = [first(either).catch(fail), second(either).catch(fail)] as const;
  await Promise.allSettled(both);
  failed.signal.throwIfAborted();
  return Promise.all(both);
}
