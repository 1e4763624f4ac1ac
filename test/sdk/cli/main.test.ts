import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempProject } from "../run/project.js";

const main = join(import.meta.dirname, "../../../dist/sdk/cli/main.js");

function genenv(args: string[], cwd?: string): { code: number | null; out: string; err: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], {
    cwd,
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "1" },
  });
  return { code: status, out: stdout, err: stderr };
}

test("help and version give 0", () => {
  expect(genenv(["--help"])).toMatchObject({ code: 0, out: expect.stringContaining("run") });
  const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
  expect(genenv(["--version"])).toEqual({ code: 0, out: `${version}\n`, err: "" });
});

test("a command line that isn't one gives 2 and says where help is", () => {
  for (const args of [["bogus"], ["run", "--bogus"], ["setup", "extra"]]) {
    expect(genenv(args)).toMatchObject({ code: 2, err: expect.stringContaining("--help") });
  }
});

test("a misspelt key gives 2 in a second, with its place and the nearest name, and leaves no run", async () => {
  const cwd = await tempProject();
  const { code, out, err } = genenv(["run", "my.yaml", "genenv.alhpa=1", "--name", "one"], cwd);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toBe(
    'error: unknown key genenv.alhpa\n  at: override "genenv.alhpa=1"\n  next: did you mean genenv.alpha?\n',
  );
  expect(existsSync(join(cwd, "runs"))).toBe(false);
});

test("--debug adds the stack, --json gives the error as an object", async () => {
  const cwd = await tempProject();
  const args = ["check", "my.yaml", "genenv.alpha=7"];
  expect(genenv([...args, "--debug"], cwd).err).toContain("at parseGenenvSection");
  const { code, out } = genenv([...args, "--json"], cwd);
  expect(code).toBe(2);
  expect(JSON.parse(out)).toMatchObject({ type: "error", code: "bad-value" });
});

test("the package loads from CommonJS", () => {
  const program = 'const g = require("genenv"); console.log(g.score(1).kind, typeof g.train)';
  const { stdout } = spawnSync(process.execPath, ["-e", program], { encoding: "utf8" });
  expect(stdout).toBe("score function\n");
});
