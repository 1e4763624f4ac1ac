/** The CLI as a process that tells its events, for tests that watch a real run or interfere with it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { type Event, linesOf } from "../stopping.js";

const root = join(import.meta.dirname, "..", "..", "..");
const cli = join(root, "dist", "sdk", "cli", "main.js");

export interface Finished {
  code: number | null;
  events: Event[];
  errors: string;
}

export interface Watching {
  onEvent?: (event: Event, child: ChildProcess) => void;
  /** The command and its arguments as they are to be started, in a network namespace for one. */
  wrap?: (command: string[]) => string[];
  env?: Record<string, string>;
}

/** Runs `genenv ARGS --json` to its end. */
export async function genenv(args: string[], watching: Watching = {}): Promise<Finished> {
  const { onEvent = () => {}, wrap = (command) => command, env = {} } = watching;
  const [command = "", ...rest] = wrap([process.execPath, cli, ...args, "--json"]);
  const child = spawn(command, rest, { cwd: root, env: { ...process.env, ...env } });
  const events: Event[] = [];
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const ended = once(child, "close");
  for await (const line of linesOf(child)) {
    const event = JSON.parse(line) as Event;
    events.push(event);
    onEvent(event, child);
  }
  const [code] = (await ended) as [number | null];
  return { code, events, errors };
}

/** What a failed expectation is to show of a run. */
export const problem = ({ code, events, errors }: Finished): string =>
  JSON.stringify({ code, last: events.slice(-3), errors: errors.slice(-2000) });

export async function query(sql: string): Promise<Record<string, unknown>[]> {
  const connection = await (await DuckDBInstance.create()).connect();
  return (await connection.runAndReadAll(sql)).getRowObjectsJS();
}
