import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

/** A folder with these files (relative path -> text), gone when the test ends. */
export function tempFolder(files: Record<string, string> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), "genenv-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    const file = join(folder, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  return folder;
}

/** What `run` throws; fails where it doesn't throw. */
export function thrownBy(run: () => unknown): Error {
  try {
    run();
  } catch (error) {
    return error as Error;
  }
  throw new Error("nothing was thrown");
}

/** What the promise rejects with; fails where it resolves. */
export async function rejectionOf(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    () => {
      throw new Error("nothing was thrown");
    },
    (error: Error) => error,
  );
}
