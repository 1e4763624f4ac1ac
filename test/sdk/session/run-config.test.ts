import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { sessionOfRun } from "../../../sdk/session/run-config.js";
import { parseSessionConfig } from "../../../sdk/session/settings.js";
import { tempFolder } from "../temp.js";

describe("a session from a run's configuration", () => {
  test("has its agent, device and sampling", () => {
    const cwd = tempFolder({
      "my.yaml": `
genenv: { device: cpu }
data: { train_files: a.jsonl, val_files: a.jsonl, max_response_length: 33 }
actor_rollout_ref:
  model: { path: builtin:tiny }
  rollout: { temperature: 0.5, top_k: 20 }
`,
      "a.jsonl": '{"prompt":"1","ground_truth":"1"}',
    });
    expect(parseSessionConfig(sessionOfRun(join(cwd, "my.yaml"), cwd))).toMatchObject({
      model: "builtin:tiny",
      device: "cpu",
      sampling: { temperature: 0.5, topP: 1, topK: 20, maxTokens: 33 },
    });
  });

  test("is refused with the configuration's own error", () => {
    const cwd = tempFolder({ "my.yaml": "genenv: { alfa: 1 }" });
    expect(() => sessionOfRun(join(cwd, "my.yaml"), cwd)).toThrowError(/alfa/);
  });
});
