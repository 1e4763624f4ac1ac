/** What can be ended with everything saved: a run. */
export interface Stoppable {
  readonly result: Promise<unknown>;
  stop(): Promise<void>;
}

/**
 * Stops a run with everything saved when the notebook's cell is interrupted (the kernel gets SIGINT), as long as the run
 * lasts. `watch` does so by itself; this is for a cell with a loop of its own over a run's events.
 */
export function stopOnInterrupt(run: Stoppable): void {
  const onInterrupt = (): void => void run.stop();
  // While a cell's first step runs, the kernel has taken its own listeners off. One that is added meanwhile would leave
  // Node without a handler after that step, and an interrupt would end the kernel.
  const listening = setImmediate(() => void process.on("SIGINT", onInterrupt));
  const forget = (): void => {
    clearImmediate(listening);
    process.off("SIGINT", onInterrupt);
  };
  run.result.then(forget, forget);
}
