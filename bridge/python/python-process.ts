import { once } from "node:events";
import { appendFileSync, existsSync, statSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";
import type { Worker } from "node:worker_threads";
import { PythonError } from "../errors.js";
import { createDeferred, withTimeout } from "./deferred.js";
import { readLogTail } from "./log-tail.js";
import { makePrivateDir, type PrivateDir } from "./private-dir.js";
import { type PythonWorkerOptions, redirectScript, startPythonWorker } from "./python-worker.js";
import type { WorkerMessage } from "./pythonia-worker.js";
import { type Reaper, startReaper } from "./reaper.js";
import { noteRunning } from "./running.js";

export interface PythonProcessOptions extends PythonWorkerOptions {
  startTimeoutMs: number;
  onData: (chunk: Buffer) => void;
}

export interface Exit {
  code: number | null;
  signal: string | null;
}

/** A Python that runs genenv.control: its process, its worker thread, its socket and its private folder. */
export class PythonProcess {
  pid = 0;
  /** Resolves when Python has ended and everything it sent has been read. */
  readonly exited: Promise<Exit>;
  readonly #exited = createDeferred<Exit>();
  readonly #connected = createDeferred<void>();
  readonly #drained = createDeferred<void>();
  readonly #logStart: number;
  readonly #worker: Worker;
  #socket: Socket | null = null;
  #failure: string | null = null;
  #reaper: Reaper | null = null;
  #forget = (): void => {};

  private constructor(
    private readonly options: PythonProcessOptions,
    private readonly dir: PrivateDir,
    private readonly server: Server,
    files: { script: string; socketPath: string },
  ) {
    this.exited = this.#exited.promise;
    this.#logStart = existsSync(options.logFile) ? statSync(options.logFile).size : 0;
    server.once("connection", (socket) => this.#onConnection(socket));
    this.#worker = startPythonWorker(options, { ...files, folder: dir.path });
    this.#worker.on("message", (message: WorkerMessage) => this.#onMessage(message));
    // An uncaught error in pythonia ends its thread, and with that its Python.
    this.#worker.on("error", (error) => this.#fail(error.stack ?? error.message));
    this.#worker.on("exit", () => this.#end({ code: null, signal: "SIGKILL" }));
  }

  /** Throws PythonError "python-start" where Python doesn't start or can't import genenv.control. */
  static async start(options: PythonProcessOptions): Promise<PythonProcess> {
    await mkdir(dirname(options.logFile), { recursive: true });
    const dir = await makePrivateDir();
    const files = {
      script: join(dir.path, "python.sh"),
      socketPath: join(dir.path, "control.sock"),
    };
    await writeFile(files.script, redirectScript, { mode: 0o700 });
    const server = createServer().listen(files.socketPath);
    await once(server, "listening");
    server.unref();
    const python = new PythonProcess(options, dir, server, files);
    await python.#waitForStart();
    return python;
  }

  /** Hands a request to control.submit(). */
  send(request: string): void {
    this.#worker.postMessage(request);
  }

  /** Keeps Node alive, or doesn't; a new process doesn't. */
  hold(on: boolean): void {
    if (on) this.#worker.ref();
    else this.#worker.unref();
  }

  /** The last lines that it wrote to its log. */
  logTail(): string[] {
    return readLogTail(this.options.logFile, this.#logStart, 20);
  }

  /** Ends its whole process group at once. */
  kill(): void {
    if (this.pid === 0) return;
    // The group is its own from connect() on; before that there is the process alone.
    for (const target of [-this.pid, this.pid]) {
      try {
        process.kill(target, "SIGKILL");
      } catch {
        // ESRCH: it is gone already, which is what was wanted.
      }
    }
  }

  /** Removes what it leaves in Node and on disk; call it after `exited`. */
  async dispose(): Promise<void> {
    this.#socket?.destroy();
    this.server.close();
    await this.#worker.terminate();
    this.#forget();
    await this.#reaper?.finish();
    await this.dir.remove();
  }

  async #waitForStart(): Promise<void> {
    const { startTimeoutMs } = this.options;
    try {
      await withTimeout(this.#connected.promise, startTimeoutMs, () => this.#lateError());
    } catch (error) {
      this.kill();
      await Promise.race([this.exited, sleep(1000)]);
      await this.dispose();
      throw error;
    }
    this.#worker.unref();
    this.#forget = noteRunning(this);
    this.#reaper = startReaper(this.options.python, this.dir.path, this.pid);
  }

  #lateError(): PythonError {
    const { python, startTimeoutMs, logFile } = this.options;
    return new PythonError(`${python} did not start: no answer after ${startTimeoutMs / 1000} s`, {
      code: "python-start",
      hint: `the machine may be busy; the log is ${logFile}`,
    });
  }

  #onConnection(socket: Socket): void {
    this.server.close();
    this.#socket = socket.unref();
    socket.on("data", this.options.onData);
    socket.on("close", () => this.#drained.resolve());
    // "close" follows, and Python's end says the rest.
    socket.on("error", () => socket.destroy());
  }

  #onMessage(message: WorkerMessage): void {
    if (message.type === "started") this.pid = message.pid;
    else if (message.type === "connected") this.#connected.resolve();
    else if (message.type === "failed") this.#fail(stripVTControlCharacters(message.stack));
    else this.#end(message);
  }

  /** Its own end is waited for a moment, since that says more than a broken channel. */
  #fail(stack: string): void {
    appendFileSync(this.options.logFile, `${stack}\n`);
    this.#failure ??= stack;
    setTimeout(() => this.kill(), 200);
  }

  /** What is left of the group ends too; what Python had sent before is read first. */
  #end(exit: Exit): void {
    this.kill();
    const read = this.#socket ? Promise.race([this.#drained.promise, sleep(25)]) : null;
    void Promise.resolve(read).then(() => {
      this.#connected.reject(this.#startError(exit));
      this.#exited.resolve(exit);
    });
  }

  #startError(exit: Exit): PythonError {
    const { python, logFile } = this.options;
    // Python ended by itself, or it was ended because of a failure that was told before.
    const failure = exit.signal === null ? null : this.#failure;
    const how = `ended with ${exit.signal ?? `exit code ${exit.code}`}`;
    const log = this.logTail().filter((line) => !this.#failure?.includes(line));
    const reason = failure ? lastError(failure) : [how, ...log.slice(-3)].join(": ");
    return new PythonError(`${python} did not start: ${reason}`, {
      code: "python-start",
      hint: `run genenv setup; the log is ${logFile}`,
      traceback: failure,
    });
  }
}

/** The last line of a stack or traceback that names an error. */
function lastError(stack: string): string {
  const lines = stack.split("\n").filter((line) => line.trim() !== "");
  const errors = lines.filter((line) => /^\W*[\w.]*(Error|Exception)\b/.test(line));
  return (errors.at(-1) ?? lines.at(-1) ?? "no reason given").trim();
}
