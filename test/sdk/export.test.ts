import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { exportCommand } from "../../sdk/cli/export-command.js";
import { exportModel } from "../../sdk/export.js";
import { rejectionOf, tempFolder, thrownBy } from "./temp.js";

const valid = (rate: number): string => JSON.stringify({ "val/success_rate": rate });

/** A project with a run of three checkpoints, the last one without an end. */
function project(): string {
  const at = (epoch: number): Record<string, string> => ({
    [`runs/one/checkpoints/epoch-${epoch}/state.json`]: "{}",
    [`runs/one/checkpoints/epoch-${epoch}/agent/config.json`]: `{"epoch": ${epoch}}`,
    [`runs/one/checkpoints/epoch-${epoch}/agent/sub/weights`]: "w",
    [`runs/one/checkpoints/epoch-${epoch}/environment/config.json`]: "{}",
    [`runs/one/checkpoints/epoch-${epoch}/trainer/agent/optim.pt`]: "o",
  });
  return tempFolder({
    "runs/one/config.yaml": "",
    ...at(9),
    ...at(10),
    "runs/one/checkpoints/epoch-9/validation.json": valid(0.75),
    "runs/one/checkpoints/epoch-10/validation.json": valid(0.5),
    "runs/one/checkpoints/.epoch-11.draft/agent/config.json": "{}",
  });
}

const epochIn = (dir: string): unknown =>
  (JSON.parse(readFileSync(join(dir, "config.json"), "utf8")) as { epoch: unknown }).epoch;

test("the newest model of a role is copied whole, without the trainer's state", () => {
  const cwd = project();
  const model = exportModel("one", { out: "models/agent", cwd });
  expect(model).toEqual({ dir: join(cwd, "models", "agent"), role: "agent", epoch: 10 });
  expect(readdirSync(model.dir).sort()).toEqual(["config.json", "sub"]);
  expect(epochIn(model.dir)).toBe(10);
  expect(readdirSync(join(cwd, "models"))).toEqual(["agent"]);
});

test("a certain epoch's model is copied, or the best on validation", () => {
  const cwd = project();
  expect(exportModel("runs/one", { out: "a", epoch: 9, cwd }).epoch).toBe(9);
  expect(exportModel("runs/one", { out: "b", epoch: "best", cwd }).epoch).toBe(9);
});

test("a folder that is there is not overwritten, be it empty", () => {
  const cwd = project();
  const error = thrownBy(() => exportModel("one", { out: "runs", cwd }));
  expect(error).toMatchObject({ code: "out-exists" });
  expect(existsSync(join(cwd, "runs", "config.json"))).toBe(false);
});

test("what isn't there is named", () => {
  const cwd = tempFolder({
    "runs/new/config.yaml": "",
    "runs/plain/config.yaml": "",
    "runs/plain/checkpoints/epoch-1/state.json": "{}",
    "runs/plain/checkpoints/epoch-1/agent/config.json": "{}",
  });
  const code = (run: string, more: object = {}): unknown =>
    (thrownBy(() => exportModel(run, { out: "x", cwd, ...more })) as Error & { code: unknown })
      .code;
  expect(code("none")).toBe("run-missing");
  expect(code("new")).toBe("no-checkpoint");
  expect(code("plain", { epoch: 2 })).toBe("no-checkpoint");
  expect(code("plain", { epoch: "best" })).toBe("no-checkpoint");
  expect(code("plain", { role: "environment" })).toBe("no-model");
});

test("the command says what it copied, and refuses what it can't read", async () => {
  const cwd = project();
  let text = "";
  const output = { write: (part: string) => (text += part) };
  expect(await exportCommand("one", { out: "m", role: "agent" }, { output, cwd })).toBe(0);
  expect(text).toBe(`the agent of epoch 10 is in ${join(cwd, "m")}\n`);
  const refused = (options: object): Promise<Error> =>
    rejectionOf(exportCommand("one", { out: "n", role: "agent", ...options }, { output, cwd }));
  expect(await refused({ role: "critic" })).toMatchObject({ code: "bad-option" });
  expect(await refused({ epoch: "last" })).toMatchObject({ code: "bad-option" });
});
