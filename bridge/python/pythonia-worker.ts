/** What the worker is given. */
export interface WorkerInput {
  /** A file from which `pythonia` is resolved. */
  resolveFrom: string;
  socketPath: string;
  logFile: string;
  /** How long jobs get to end by themselves once Node is gone. */
  graceSeconds: number;
}

/** What the worker says; it is sent JSON strings for Python's submit(). */
export type WorkerMessage =
  | { type: "started"; pid: number }
  | { type: "connected" }
  | { type: "failed"; stack: string }
  | { type: "exit"; code: number | null; signal: string | null };

/**
 * The whole program of the worker thread that holds pythonia. Importing pythonia starts Python, once a thread, and its
 * failures are uncaught errors: in a thread of its own it can be started again, and ends that thread alone.
 * A string, since a worker can't load a TypeScript file when genenv runs from source; it is both CommonJS and ESM, since
 * --input-type decides which it is taken for.
 */
export const workerProgram = `
const { appendFileSync } = process.getBuiltinModule("node:fs");
const { createRequire } = process.getBuiltinModule("node:module");
const { parentPort, workerData } = process.getBuiltinModule("node:worker_threads");
// What pythonia prints. Reading the worker's own streams from outside would keep Node alive.
for (const stream of [process.stdout, process.stderr]) {
  stream.write = (text) => (appendFileSync(workerData.logFile, text), true);
}
const say = (message) => parentPort.postMessage(message);
const failed = (error) => say({ type: "failed", stack: String(error?.stack ?? error) });
// A broken channel to Python, among others: the thread stays until Python's end has been told.
process.on("uncaughtException", failed);
process.on("unhandledRejection", failed);
const { com, python } = createRequire(workerData.resolveFrom)("pythonia");
com.proc.on("exit", (code, signal) => say({ type: "exit", code, signal }));
say({ type: "started", pid: com.proc.pid });
python.setFastMode(true);
(async () => {
  const control = await python("genenv.control");
  await control.connect(workerData.socketPath, workerData.graceSeconds);
  parentPort.on("message", (request) => control.submit(request).then(() => {}, failed));
  say({ type: "connected" });
})().catch(failed);
`;
