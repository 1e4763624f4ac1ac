const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Calls `listener` on each Ctrl-C and each request to end; returns how to stop listening. */
export function onInterrupt(listener: () => void): () => void {
  for (const signal of signals) process.on(signal, listener);
  return () => {
    for (const signal of signals) process.removeListener(signal, listener);
  };
}
