/** A hook's own output, sent to the hooks log with the task and sample it belongs to. */
import { Console } from "node:console";
import { openSync, writeSync } from "node:fs";
import { Writable } from "node:stream";
import { currentRow } from "./row-runner.js";

/**
 * Sends everything this thread prints to the file, a prefix a line. Writes are synchronous: what a hook printed
 * before its thread was killed is the most interesting line of all.
 */
export function redirectOutput(file: string | null): void {
  if (file === null) return;
  const fd = openSync(file, "a", 0o600);
  const write = (chunk: string | Uint8Array): void => {
    const text = typeof chunk === "string" ? chunk : Buffer.from(chunk).toString("utf8");
    const prefix = linePrefix();
    const lines = text.replace(/\n$/, "").split("\n");
    writeSync(fd, lines.map((line) => `${prefix}${line}\n`).join(""));
  };
  const sink = new Writable({
    decodeStrings: false,
    write(chunk: string | Uint8Array, _encoding, done) {
      write(chunk);
      done();
    },
  });
  globalThis.console = new Console({ stdout: sink, stderr: sink });
  const replacement = (chunk: string | Uint8Array): boolean => {
    write(chunk);
    return true;
  };
  process.stdout.write = replacement as typeof process.stdout.write;
  process.stderr.write = replacement as typeof process.stderr.write;
}

function linePrefix(): string {
  const context = currentRow.getStore();
  if (context === undefined) return `${new Date().toISOString()} [load] `;
  const { sample, taskId } = context.sink.batch.where(context.row);
  return `${new Date().toISOString()} [task ${taskId ?? "-"} sample ${sample}] `;
}
