/** The packed package in somebody else's empty project: installed with npm and with pnpm, from the registry's dependencies. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..", "..", "..");
const folder = mkdtempSync(join(tmpdir(), "genenv-pack-"));
const project = join(folder, "project");
afterAll(() => rmSync(folder, { recursive: true, force: true }), 120_000);

function run(command: string, args: string[], cwd = project): string {
  return execFileSync(command, args, {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
}

interface Packed {
  filename: string;
  size: number;
  files: { path: string }[];
}

describe("the packed package", { timeout: 300_000 }, () => {
  let packed: Packed;

  // dist is what the test command has built.
  beforeAll(() => {
    const [only] = JSON.parse(
      run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder], root),
    ) as Packed[];
    packed = only as Packed;
    mkdirSync(project);
    const manifest = { name: "somebody-elses", version: "1.0.0", private: true };
    writeFileSync(join(project, "package.json"), JSON.stringify(manifest));
    const tools = ["zod", "typescript@5.9", "@types/node@20"];
    run("npm", ["install", "--no-audit", "--no-fund", join(folder, packed.filename), ...tools]);
  }, 300_000);

  it("has the built code, the Python part, configurations and examples, and no more", () => {
    const paths = packed.files.map(({ path }) => path);
    const first = new Set(paths.map((path) => path.split("/")[0]));
    expect([...first].sort()).toEqual(
      ["LICENSE", "README.md", "configs", "dist", "examples", "package.json", "py"].sort(),
    );
    for (const path of [
      "dist/sdk/index.d.ts",
      "dist/sdk/index.js.map",
      "py/genenv/control.py",
      "py/requirements/cpu.lock",
      "py/requirements/tslab/package-lock.json",
      "examples/notebooks/run-live.ipynb",
      "configs/genenv_config.yaml",
      "examples/math/data/train.parquet",
    ]) {
      expect(paths).toContain(path);
    }
    expect(paths.filter((path) => /__pycache__|\.pyc$|node_modules|\.built$/.test(path))).toEqual(
      [],
    );
  });

  it("is under 1 MB without its dependencies", () => {
    expect(statSync(join(folder, packed.filename)).size).toBeLessThan(1_000_000);
  });

  it("has no install script of ours", () => {
    const manifest = run("npm", ["pkg", "get", "scripts"], join(project, "node_modules", "genenv"));
    expect(manifest).not.toMatch(/"(pre|post)?install"/);
  });

  it("answers npx genenv --version, and begins a project", () => {
    expect(run("npx", ["genenv", "--version"]).trim()).toMatch(/^\d+\.\d+\.\d+/);
    expect(run("npx", ["genenv", "init", "new", "--template", "math"])).toContain("next: cd new");
  });

  it.each(["genenv", "genenv/graders", "genenv/notebook", "genenv/testing"])(
    "%s is imported and required",
    (name) => {
      const esm = `import * as all from "${name}"; console.log(Object.keys(all).length > 0)`;
      expect(run("node", ["--input-type=module", "-e", esm]).trim()).toBe("true");
      const cjs = `console.log(Object.keys(require("${name}")).length > 0)`;
      expect(run("node", ["--input-type=commonjs", "-e", cjs]).trim()).toBe("true");
    },
  );

  it("brands of the imported and the required package agree", () => {
    const program = `
      import { createRequire } from "node:module";
      import { allOf } from "genenv";
      import { z } from "zod";
      const { defineReward } = createRequire(import.meta.url)("genenv");
      const one = defineReward({ name: "one", groundTruth: z.string(), score: () => 1 });
      console.log(allOf({ one }).name);`;
    writeFileSync(join(project, "brands.mjs"), program);
    expect(run("node", ["brands.mjs"]).trim()).toBe("allOf(one)");
  });

  it.each(["node16", "node10"])(
    "its types are found with moduleResolution %s",
    (moduleResolution) => {
      const program = `
import { type RewardHook, train } from "genenv";
import { math } from "genenv/graders";
import { table } from "genenv/notebook";
import { testReward } from "genenv/testing";
export const right: number = math({ response: "1", groundTruth: "1" }).score;
export const run: typeof train = train;
export const shown: string = table([{ a: 1 }]);
export const tested = (reward: RewardHook): unknown => testReward(reward, []);
// @ts-expect-error: a score is no text
export const wrong: string = math({ response: "1", groundTruth: "1" }).score;
`;
      writeFileSync(join(project, "types.ts"), program);
      const module = moduleResolution === "node16" ? "node16" : "commonjs";
      const flags = [
        "--noEmit",
        "--strict",
        "--skipLibCheck",
        "--target",
        "es2022",
        "--types",
        "node",
      ];
      const resolution = ["--module", module, "--moduleResolution", moduleResolution];
      // A CommonJS project that imports an ES module gets its types from TypeScript's node16 only as a .mts.
      const file = moduleResolution === "node16" ? "types.mts" : "types.ts";
      writeFileSync(join(project, file), program);
      expect(run("npx", ["tsc", ...flags, ...resolution, file])).toBe("");
    },
  );

  it("is installed by pnpm too, whose modules see only what they ask for", () => {
    const other = join(folder, "pnpm-project");
    mkdirSync(other);
    const manifest = { name: "pnpm-project", version: "1.0.0", private: true };
    writeFileSync(join(other, "package.json"), JSON.stringify(manifest));
    const pnpm = (...args: string[]): string => run("npx", ["--yes", "pnpm@10", ...args], other);
    pnpm("add", `--store-dir=${join(folder, "store")}`, join(folder, packed.filename), "zod");
    expect(pnpm("exec", "genenv", "--version").trim()).toMatch(/^\d+\.\d+\.\d+/);
    const names = ["genenv", "genenv/graders", "genenv/notebook", "genenv/testing"];
    const imports = names.map((name, place) => `import * as m${place} from "${name}";`).join("");
    const esm = `${imports} console.log([m0, m1, m2, m3].every((m) => Object.keys(m).length > 0))`;
    expect(run("node", ["--input-type=module", "-e", esm], other).trim()).toBe("true");
    const cjs = `console.log(${JSON.stringify(names)}.every((n) => Object.keys(require(n)).length > 0))`;
    expect(run("node", ["--input-type=commonjs", "-e", cjs], other).trim()).toBe("true");
  });
});
