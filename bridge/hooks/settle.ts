/** Steps after the user's code, without a promise where that code made none. */

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === "object" &&
    value !== null &&
    "then" in value &&
    typeof value.then === "function"
  );
}

export function settle<T>(
  returned: unknown,
  next: (value: unknown) => T | Promise<T>,
): T | Promise<T> {
  return isThenable(returned) ? Promise.resolve(returned).then(next) : next(returned);
}

export function settleAll<T, R>(
  values: (T | Promise<T>)[],
  next: (values: T[]) => R,
): R | Promise<R> {
  if (!values.some(isThenable)) return next(values as T[]);
  return Promise.all(values).then(next);
}
