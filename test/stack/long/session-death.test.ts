/** kill -9 of each process below a session: every call ends with a typed error, and nothing outlives it. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import { openSession, type Session } from "../../../sdk/session.js";

const logDir = mkdtempSync(join(tmpdir(), "genenv-test-death-"));
afterAll(() => rmSync(logDir, { recursive: true, force: true }));

interface Family {
  /** Python's control process. */
  control: number;
  /** AsyncLLM's process. */
  driver: number;
  /** vLLM's engine core. */
  core: number;
}

function familyOf({ pid }: Session): Family {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const control = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  const children = readdirSync(`/proc/${pid}/task`)
    .flatMap((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").split(" "))
    .filter(Boolean);
  const core = children.find((child) =>
    readFileSync(`/proc/${child}/cmdline`, "utf8").includes("EngineCore"),
  );
  return { control, driver: pid, core: Number(core) };
}

/** Waits until none of them runs; those that still do after 10 s. */
async function survivors(family: Family): Promise<string[]> {
  for (let tenths = 0; ; tenths++) {
    const alive = Object.entries(family).filter(([, pid]) => isRunning(pid as number));
    if (alive.length === 0 || tenths > 100) return alive.map(([name]) => name);
    await sleep(100);
  }
}

/** False for one that is gone, and for one that only waits to be reaped. */
function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

describe("a session whose process is killed", { timeout: 240_000 }, () => {
  const expected = {
    core: { name: "WorkerError", code: "engine-failed" },
    driver: { name: "WorkerError", code: "engine-died" },
    control: { name: "PythonError", code: "python-died" },
  };
  for (const [victim, error] of Object.entries(expected)) {
    it(`says what died, and leaves nothing behind: ${victim}`, async () => {
      const session = await openSession({ model: "builtin:tiny" }, { logDir });
      const family = familyOf(session);
      const folder = /TMPDIR=([^\0]+)/.exec(readFileSync(`/proc/${session.pid}/environ`, "utf8"));
      expect(existsSync(folder?.[1] ?? "")).toBe(true);
      const long = Array<string>(50).fill("Go on");
      const generating = (async () => {
        const sampling = { maxTokens: 1500 };
        for await (const _ of session.generate({ prompts: long, n: 8, sampling }));
      })();
      const timer = setTimeout(() => process.kill(family[victim as keyof Family], "SIGKILL"), 300);
      await expect(generating).rejects.toMatchObject(error);
      clearTimeout(timer);
      await session.close();
      expect(await survivors(family)).toEqual([]);
      expect(existsSync(join(folder?.[1] ?? "", "..", ".."))).toBe(false);
    });
  }
});
