interface Killable {
  kill(): void;
}

const running = new Set<Killable>();

/** Notes a Python process of this Node; returns how to forget it again. */
export function noteRunning(python: Killable): () => void {
  running.add(python);
  return () => running.delete(python);
}

/** Ends every Python of this Node, with all below it, at once: for a Node that leaves now. */
export function killPythons(): void {
  for (const python of running) python.kill();
}
