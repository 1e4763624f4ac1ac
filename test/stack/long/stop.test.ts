/**
 * Every way in which a run may end before its time: one process of each kind killed, signals, and an exception in each
 * part. One tiny run each. GENENV_STOP_CASES=raylet,driver tries only some.
 */
import { describe, expect, it } from "vitest";
import { killAll, killOne, struck, type Victim } from "../stopping.js";

const only = process.env.GENENV_STOP_CASES?.split(",");
const chosen = <T extends { name: string }>(cases: readonly T[]): T[] =>
  cases.filter(({ name }) => only === undefined || only.includes(name));

const killed: { name: Victim; code: string; message: RegExp }[] = [
  { name: "control", code: "python-died", message: /^Python was ended by SIGKILL/ },
  {
    name: "driver",
    code: "role-died",
    message: /^the \w+ role's process ended with exit code 137/,
  },
  { name: "trainer", code: "worker-died", message: /^veRL's trainer \(WorkerDict\)/ },
  { name: "vLLM's server", code: "worker-died", message: /^vLLM's (server|engine)/ },
  { name: "agent loop", code: "worker-died", message: /^veRL's agent loop/ },
  { name: "transfer queue", code: "worker-died", message: /^veRL's transfer queue/ },
  { name: "fork server", code: "worker-died", message: /^the fork server/ },
  { name: "raylet", code: "worker-died", message: /^Ray's raylet/ },
  { name: "Ray's head", code: "worker-died", message: /^Ray's gcs_server/ },
];

describe("a run of which one process is killed", { timeout: 500_000 }, () => {
  it.each(chosen(killed))(
    "says what died, keeps what was saved, and leaves nothing: $name",
    async ({ name, code, message }) => {
      const run = await struck({ strike: (child) => killOne(child, name) });
      expect(run.error?.message).toMatch(message);
      expect(run.error?.code).toBe(code);
      expect(run.code).toBe(1);
      expect(run.seconds).toBeLessThan(30);
      expect(run.checkpoints).toContain("epoch-1");
      expect(run.left).toEqual([]);
    },
  );

  it.runIf(chosen([{ name: "hook host" }]).length > 0)(
    "goes on without its hook host",
    async () => {
      let strikes = 0;
      const run = await struck({
        when: ({ phase }) => phase === "agent-rollout",
        strike: (child) => {
          strikes += 1;
          killOne(child, "hook host");
        },
        overrides: ["trainer.total_epochs=2"],
      });
      expect(strikes).toBe(1);
      const warnings = run.events.filter(({ type }) => type === "warning");
      expect(warnings.map(({ code }) => code)).toContain("hook-host-died");
      expect(run.events.at(-1)).toMatchObject({ type: "result", epochs: 2 });
      expect(run.code).toBe(0);
      expect(run.left).toEqual([]);
    },
  );

  it.runIf(chosen([{ name: "start" }]).length > 0)("says so while it starts, too", async () => {
    const run = await struck({
      when: ({ detail }) => detail?.startsWith("starting agent") ?? false,
      strike: (child) => setTimeout(() => killOne(child, "raylet"), 3000),
    });
    expect(run.error?.message).toMatch(/^Ray's raylet/);
    expect(run.code).toBe(1);
    expect(run.seconds).toBeLessThan(33);
    expect(run.left).toEqual([]);
  });

  it.runIf(chosen([{ name: "all" }]).length > 0)(
    "leaves nothing where all of it is killed",
    async () => {
      const run = await struck({ strike: killAll });
      expect(run.signal).toBe("SIGKILL");
      expect(run.left).toEqual([]);
    },
  );
});

describe("a run that is told to stop", { timeout: 500_000 }, () => {
  it.each(chosen([{ name: "SIGTERM" }, { name: "SIGHUP" }]))(
    "gives up its rollout, saves, and leaves: $name",
    async ({ name }) => {
      const run = await struck({ strike: (child) => child.kill(name as NodeJS.Signals) });
      expect(run.events.at(-1)).toMatchObject({ type: "result", stopped: true, epochs: 1 });
      expect(run.code).toBe(1);
      expect(run.seconds).toBeLessThan(30);
      expect(run.left).toEqual([]);
    },
  );

  it.runIf(chosen([{ name: "twice" }]).length > 0)(
    "leaves at once at a second Ctrl-C",
    async () => {
      const run = await struck({
        strike: (child) => {
          child.kill("SIGINT");
          setTimeout(() => child.kill("SIGINT"), 100);
        },
      });
      expect(run.code).toBe(1);
      expect(run.seconds).toBeLessThan(5);
      expect(run.checkpoints).toContain("epoch-1");
      expect(run.left).toEqual([]);
    },
  );
});

const thrown: { name: string; overrides: string[]; message: RegExp; checkpoint: boolean }[] = [
  {
    name: "in veRL's trainer",
    overrides: ["actor_rollout_ref.actor.policy_loss.loss_mode=no_such_loss"],
    message: /^the agent role failed: .*no_such_loss/,
    checkpoint: false,
  },
  {
    name: "in veRL's agent loop",
    overrides: ["actor_rollout_ref.rollout.agent.default_agent_loop=no_such_loop"],
    message: /no_such_loop|could be rolled out/,
    checkpoint: false,
  },
  {
    name: "in vLLM",
    overrides: ["+actor_rollout_ref.rollout.engine_kwargs.vllm.block_size=7"],
    // The watch may see its process gone before its server says so.
    message: /(^the \w+ role failed: |; the last error in its log: )\w*Error: /,
    checkpoint: false,
  },
];

describe("a run in which something throws", { timeout: 500_000 }, () => {
  it.each(chosen(thrown))(
    "says what, and leaves nothing: $name",
    async ({ overrides, message }) => {
      const run = await struck({ when: () => false, strike: () => {}, overrides });
      expect(run.error?.message).toMatch(message);
      expect(run.error?.hint).toContain("/logs");
      expect(run.code).toBe(1);
      expect(run.left).toEqual([]);
    },
  );
});
