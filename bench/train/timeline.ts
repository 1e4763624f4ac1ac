import { type ChildProcess, spawn } from "node:child_process";

export interface TimedLine {
  /** Since the command was started. */
  seconds: number;
  text: string;
}

export interface Command {
  program: string;
  args: string[];
  env: Record<string, string | undefined>;
  cwd: string;
}

/**
 * Runs a command to its end and gives what it printed, with times; `onLine` may end it. Throws with its last lines where
 * it leaves with something else than `codes`.
 */
export async function timeline(
  { program, args, env, cwd }: Command,
  codes: readonly number[] = [0],
  onLine: (line: TimedLine, child: ChildProcess) => void = () => {},
): Promise<TimedLine[]> {
  const startMs = performance.now();
  const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  const lines: TimedLine[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    let rest = "";
    stream.on("data", (chunk: Buffer) => {
      const seconds = (performance.now() - startMs) / 1000;
      const parts = (rest + chunk.toString()).split("\n");
      rest = parts.pop() ?? "";
      for (const text of parts) {
        lines.push({ seconds, text });
        onLine({ seconds, text }, child);
      }
    });
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== null && codes.includes(code)) return lines;
  const last = lines.slice(-15).map(({ text }) => text);
  throw new Error(
    `${program} ${args.slice(0, 3).join(" ")} ended with ${code}:\n${last.join("\n")}`,
  );
}
