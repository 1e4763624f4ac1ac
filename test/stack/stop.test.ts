/** The two ends that tell the most; test/stack/long/stop.test.ts has the others. */
import { describe, expect, it } from "vitest";
import { killOne, struck } from "./stopping.js";

describe("a run that is struck", { timeout: 500_000 }, () => {
  it("says that vLLM's engine died, keeps what was saved, and leaves nothing", async () => {
    const run = await struck({ strike: (child) => killOne(child, "vLLM's engine") });
    expect(run.error?.code).toBe("worker-died");
    expect(run.error?.message).toMatch(/^vLLM's engine \(process \d+\) died$/);
    expect(run.error?.hint).toMatch(/npx genenv resume \/\S+$/);
    expect(run.code).toBe(1);
    expect(run.seconds).toBeLessThan(30);
    expect(run.checkpoints).toContain("epoch-1");
    expect(run.left).toEqual([]);
  });

  it("takes everything with it when it is killed itself", async () => {
    const run = await struck({ strike: (child) => child.kill("SIGKILL") });
    expect(run.signal).toBe("SIGKILL");
    expect(run.checkpoints).toContain("epoch-1");
    expect(run.left).toEqual([]);
  });
});
