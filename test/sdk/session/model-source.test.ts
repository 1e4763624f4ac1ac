import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { toModelFolder } from "../../../sdk/session/model-source.js";
import { tempFolder } from "../temp.js";

const checkpoint = (epoch: number): Record<string, string> => ({
  [`runs/a/checkpoints/epoch-${epoch}/state.json`]: "{}",
  [`runs/a/checkpoints/epoch-${epoch}/agent/config.json`]: "{}",
});

describe("the model of a session", () => {
  test("is the agent of a run's last complete checkpoint", () => {
    const cwd = tempFolder({
      "runs/a/config.yaml": "",
      ...checkpoint(2),
      ...checkpoint(10),
      // Drafts: one still under its hidden name, one without its state.
      "runs/a/checkpoints/.epoch-12.draft/agent/config.json": "{}",
      "runs/a/checkpoints/epoch-11/agent/config.json": "{}",
    });
    expect(toModelFolder("runs/a", cwd)).toBe(join(cwd, "runs/a/checkpoints/epoch-10/agent"));
  });

  test("is a checkpoint's agent where a checkpoint is named", () => {
    const cwd = tempFolder(checkpoint(2));
    const folder = join(cwd, "runs/a/checkpoints/epoch-2");
    expect(toModelFolder(folder, cwd)).toBe(join(folder, "agent"));
  });

  test("is what is named where that is no run", () => {
    const cwd = tempFolder({ "m/config.json": "{}", "empty/notes.txt": "" });
    for (const model of ["m", "empty", "builtin:tiny", "owner/name", "not-there"]) {
      expect(toModelFolder(model, cwd)).toBe(model);
    }
  });

  test("can't be a run without a checkpoint", () => {
    const cwd = tempFolder({ "runs/a/config.yaml": "" });
    expect(() => toModelFolder("runs/a", cwd)).toThrowError(
      expect.objectContaining({ name: "ConfigError", code: "no-checkpoint" }),
    );
  });
});
