/** The way to start that needs no fork server, for systems on which that can't be had. */
import { expect, it } from "vitest";
import { commandsBelow, processes, struck } from "../stopping.js";

it("trains without the fork server, and leaves nothing", { timeout: 500_000 }, async () => {
  let commands: string[] = [];
  const run = await struck({
    when: ({ type, phase }) => type === "phase" && phase === "agent-rollout",
    strike: (child) => {
      commands = commandsBelow(child);
    },
    overrides: ["genenv.fast_start=false", "trainer.total_epochs=1"],
  });
  expect(commands.some((command) => processes.trainer.test(command))).toBe(true);
  expect(commands.some((command) => processes["fork server"].test(command))).toBe(false);
  expect(run.error).toBeNull();
  expect(run.events.at(-1)).toMatchObject({ type: "result", epochs: 1, stopped: false });
  expect(run.code).toBe(0);
  expect(run.left).toEqual([]);
});
