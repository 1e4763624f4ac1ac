import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { compileHook } from "../../bridge/hooks/bundle.js";
import { checkHook, loadHook } from "../../bridge/hooks/preflight.js";
import type { HookKind } from "../../bridge/hooks/types.js";
import { fixtures, repository, temporaryDir } from "./hook-plane.js";

function check(path: string, exportName = "default", kind: HookKind = "reward"): Promise<unknown> {
  return checkHook({ path: join(fixtures, path), exportName }, kind, repository);
}

test("says what a good hook is", async () => {
  expect(await check("hooks/uses.ts")).toEqual({
    kind: "reward",
    name: "uses",
    uses: ["messages", "dataSource", "extra"],
  });
  expect(await check("hooks/sum.ts", "sums", "environment")).toMatchObject({ name: "sums" });
});

test("a missing file is named with where it was looked for", async () => {
  const error = checkHook({ path: "./no-such.ts", exportName: "default" }, "reward", repository);
  await expect(error).rejects.toMatchObject({
    code: "hook-missing",
    message: `there is no hook file ${join(repository, "no-such.ts")}`,
  });
});

test("a file that doesn't compile is shown with line and column", async () => {
  await expect(check("bad-hooks/syntax.ts")).rejects.toMatchObject({
    code: "hook-compile",
    message: expect.stringMatching(
      /bad-hooks\/syntax\.ts:3:10: Expected identifier but found "=>"/,
    ),
    hint: "the line is: score( => 1,",
    place: { line: 3, column: 10 },
  });
});

test("a file without the export says what it has", async () => {
  await expect(check("bad-hooks/no-hook.ts")).rejects.toMatchObject({
    code: "hook-export",
    message: expect.stringMatching(/no-hook\.ts has no export "default"$/),
    hint: expect.stringMatching(/^it exports helper; name one as .*no-hook\.ts#helper$/),
  });
});

test("an export of the wrong kind says what it is", async () => {
  await expect(check("hooks/sum.ts", "sums", "reward")).rejects.toMatchObject({
    code: "hook-export",
    message: expect.stringMatching(
      /^export "sums" of .*sum\.ts is an environment hook, not a reward hook$/,
    ),
  });
  await expect(check("bad-hooks/top-level-export.ts")).rejects.toMatchObject({
    message: expect.stringMatching(/is the string "no hook", not a reward hook$/),
  });
});

test("an error while loading is shown with the user's own line", async () => {
  await expect(check("bad-hooks/top-level-throw.ts")).rejects.toMatchObject({
    code: "hook-load",
    message: expect.stringMatching(
      /failed while it was loaded: SyntaxError: .*\n.*top-level-throw\.ts:1:\d+/s,
    ),
  });
});

test("an endless top-level loop can't hang the caller", async () => {
  const path = join(fixtures, "bad-hooks/top-level-loop.ts");
  const checked = checkHook({ path, exportName: "default" }, "reward", repository, 1_000);
  await expect(checked).rejects.toMatchObject({
    code: "hook-load",
    message: expect.stringMatching(/top-level-loop\.ts was not loaded after 1 s; is there a loop/),
  });
});

test("a plain grader function is a reward", async () => {
  expect(await check("hooks/grader.ts", "contains")).toEqual({
    kind: "reward",
    name: "contains",
    uses: [],
  });
  const hook = await loadHook(
    { path: join(fixtures, "hooks/grader.ts"), exportName: "contains" },
    "reward",
    repository,
  );
  const input = { response: "abc", groundTruth: "b", taskId: "t", signal: AbortSignal.abort() };
  expect(hook.score(input as never)).toMatchObject({ score: 1 });
});

async function project(files: Record<string, string>): Promise<string> {
  const dir = await temporaryDir();
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(dir, name, ".."), { recursive: true });
    await writeFile(join(dir, name), text);
  }
  return dir;
}

const REWARD = `
import { z } from "zod";
import { word } from "./words.js";
const reward = { [Symbol.for("genenv.hook")]: "reward", name: "mine", groundTruth: z.unknown(), uses: [],
  concurrency: null, score: () => word.length };
export default reward;
`;

test("a project's other files and its own packages are found from the project", async () => {
  const dir = await project({
    "reward.ts": `import { scale } from "tiny"; ${REWARD.replace("word.length", "word.length * scale")}`,
    "words.ts": `import { readFileSync } from "node:fs";
      export const word: string = readFileSync(new URL("./word.txt", import.meta.url), "utf8");`,
    "word.txt": "four",
    "node_modules/tiny/package.json": `{ "name": "tiny", "type": "module", "exports": "./index.js" }`,
    "node_modules/tiny/index.js": "export const scale = 10;",
  });
  const hook = await loadHook({ path: "./reward.ts", exportName: "default" }, "reward", dir);
  expect(hook.score({} as never)).toBe(40);
});

test("a hook that lies elsewhere takes its packages from its own folder, and zod from genenv where it has none", async () => {
  const other = await project({
    "reward.ts": `import { scale } from "tiny"; ${REWARD.replace("word.length", "scale")}`,
    "words.ts": `export const word = "a";`,
    "node_modules/tiny/package.json": `{ "name": "tiny", "type": "module", "exports": "./index.js" }`,
    "node_modules/tiny/index.js": "export const scale = 10;",
  });
  const ref = { path: join(other, "reward.ts"), exportName: "default" };
  const hook = await loadHook(ref, "reward", await project({}));
  expect(hook.score({} as never)).toBe(10);
});

test("a grader finds genenv's own packages from a project that has none of them", async () => {
  const dir = await project({
    "reward.ts": `import { math } from "genenv/graders";
      const reward = { [Symbol.for("genenv.hook")]: "reward", name: "mine", groundTruth: {}, uses: [],
        concurrency: null, score: (input) => math(input).score };
      export default reward;`,
  });
  const hook = await loadHook({ path: "reward.ts", exportName: "default" }, "reward", dir);
  expect(hook.score({ response: "\\\\boxed{1/2}", groundTruth: "0.5" } as never)).toBe(1);
});

test("the bundle is one file beside the project, the same for the same sources", async () => {
  const dir = await project({ "reward.ts": REWARD, "words.ts": `export const word = "a";` });
  const ref = { path: "reward.ts", exportName: "default" };
  const first = await compileHook(ref, dir);
  expect(await compileHook(ref, dir)).toEqual(first);
  expect(await readdir(join(dir, ".genenv", "hooks"))).toHaveLength(1);
  await writeFile(join(dir, "words.ts"), `export const word = "changed";`);
  const second = await compileHook(ref, dir);
  expect(second.file).not.toBe(first.file);
  expect(await readFile(first.file, "utf8")).toContain('"a"');
});

test("a hook that imports genenv loads only what it uses of it", async () => {
  const ref = {
    path: join(repository, "examples/arithmetic/environment.ts"),
    exportName: "default",
  };
  const { file } = await compileHook(ref, repository);
  const code = (await readFile(file, "utf8")).replace(/\/\/# sourceMappingURL.*/, "");
  expect(code).toContain("defineEnvironment");
  expect(code.match(/^import .*$/gm)).toEqual(['import { z } from "zod";']);
});

test("a package that isn't installed is named", async () => {
  const dir = await project({
    "reward.ts": `import "no-such-package"; ${REWARD}`,
    "words.ts": `export const word = "a";`,
  });
  const checked = checkHook({ path: "reward.ts", exportName: "default" }, "reward", dir);
  await expect(checked).rejects.toThrow(/reward\.ts failed while it was loaded: .*no-such-package/);
});

test("a linked project finds its files too", async () => {
  const dir = await project({
    "real/reward.ts": REWARD,
    "real/words.ts": `export const word = "ab";`,
  });
  await symlink(join(dir, "real"), join(dir, "link"));
  const hook = await loadHook(
    { path: "./reward.ts", exportName: "default" },
    "reward",
    join(dir, "link"),
  );
  expect(hook.score({} as never)).toBe(2);
});
