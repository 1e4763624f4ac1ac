import { createInterface } from "node:readline/promises";

/** Questions on the terminal; null where there is no terminal to ask on. */
export function terminalQuestions(): {
  ask(question: string): Promise<string>;
  close(): void;
} | null {
  if (!process.stdin.isTTY || !process.stdout.isTTY || process.env.CI) return null;
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  return { ask: (question) => lines.question(question), close: () => lines.close() };
}
