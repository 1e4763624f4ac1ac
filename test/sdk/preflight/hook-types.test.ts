import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { HookError } from "../../../bridge/errors.js";
import { checkCommand } from "../../../sdk/cli/check-command.js";
import { assertHookTypes } from "../../../sdk/preflight/hook-types.js";
import { fakeParts } from "../run/fake-parts.js";
import { tempProject } from "../run/project.js";
import { rejectionOf, tempFolder } from "../temp.js";

const good = `\
import { defineReward } from "genenv";
import { z } from "zod";
export default defineReward({
  name: "digits",
  groundTruth: z.string(),
  score: ({ response, groundTruth }) => (response === groundTruth ? 1 : 0),
});
`;

test("a hook whose types are right is taken, where the project has no package and no tsconfig.json", async () => {
  const cwd = tempFolder({ "reward.ts": good, "plain.js": "const x = ;" });
  await assertHookTypes([join(cwd, "reward.ts"), join(cwd, "plain.js")], cwd);
  await assertHookTypes([join(cwd, "none.ts")], cwd);
});

test("type errors of a hook and of what it imports are named with file, line and column", async () => {
  const cwd = tempFolder({
    "reward.ts": good
      .replace("? 1 : 0", '? bonus : "no"')
      .replace("import", 'import { bonus } from "./lib/bonus.js";\nimport'),
    "lib/bonus.ts": 'export const bonus: number = "1";\n',
  });
  const error = await rejectionOf(assertHookTypes([join(cwd, "reward.ts")], cwd));
  expect(error).toMatchObject({ code: "hook-types", place: { line: 1, column: 14 } });
  expect(error.message.split("\n")[0]).toBe(
    "lib/bonus.ts:1:14: Type 'string' is not assignable to type 'number'. (TS2322)",
  );
  expect(error.message).toMatch(/\nreward\.ts:7:41: Type 'number \| "no"' is not assignable/);
});

test("the project's own tsconfig.json is the one that counts", async () => {
  const implicit = `${good}function f(x) { return x; }\nvoid f;\n`;
  const strict = tempFolder({ "reward.ts": implicit });
  expect(
    (await rejectionOf(assertHookTypes([join(strict, "reward.ts")], strict))).message,
  ).toContain("reward.ts:8:12: Parameter 'x' implicitly has an 'any' type.");
  const config = {
    compilerOptions: { target: "ES2022", module: "NodeNext", strict: true, noImplicitAny: false },
  };
  const lax = tempFolder({ "reward.ts": implicit, "tsconfig.json": JSON.stringify(config) });
  await assertHookTypes([join(lax, "reward.ts")], lax);
});

test("@types of the project are found wherever genenv is started", async () => {
  const cwd = tempFolder({
    "reward.ts": `${good}const spelled: Spell = "a";\nvoid spelled;\n`,
    "tsconfig.json": JSON.stringify({
      compilerOptions: { module: "NodeNext", strict: true, types: ["spell"] },
    }),
    "node_modules/@types/spell/index.d.ts": "type Spell = string;\n",
  });
  await assertHookTypes([join(cwd, "reward.ts")], cwd);
});

test("genenv check shows them, and ends what it does meanwhile", async () => {
  const cwd = await tempProject({ "reward.ts": good.replace("? 1 : 0", '? "yes" : 0') });
  const parts = fakeParts({
    check: (_params, { signal }) =>
      new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason))),
  });
  const output = { write: () => true };
  const error = await rejectionOf(checkCommand(["my.yaml"], {}, { output, parts, cwd }));
  expect(error).toMatchObject({ code: "hook-types" });
  expect(error.message).toMatch(/^reward\.ts:6:41: Type 'string \| number' is not assignable/);
  expect(parts.open.size).toBe(0);
});

test("wrong types are shown first where the hook doesn't load either", async () => {
  const cwd = await tempProject({ "reward.ts": good.replace("? 1 : 0", '? "yes" : 0') });
  const parts = fakeParts();
  parts.startHookHost = () => Promise.reject(new HookError("it threw", { code: "hook-load" }));
  const output = { write: () => true };
  const error = await rejectionOf(checkCommand(["my.yaml"], {}, { output, parts, cwd }));
  expect(error).toMatchObject({ code: "hook-types" });
});

test("what was right is looked at again only where something that the check saw has changed", async () => {
  const cwd = tempFolder({
    "reward.ts": `import { bonus } from "./lib/bonus.js";\n${good.replace("? 1 : 0", "? bonus : 0")}`,
    "lib/bonus.ts": "export const bonus = 1;\nconst unused = 2;\n",
  });
  const check = (): Promise<void> => assertHookTypes([join(cwd, "reward.ts")], cwd);
  const seen = join(cwd, ".genenv", "types.json");
  await check();
  const first = readFileSync(seen, "utf8");
  await check();
  expect(readFileSync(seen, "utf8")).toBe(first);

  writeFileSync(join(cwd, "lib", "bonus.ts"), 'export const bonus = "1";\n');
  expect((await rejectionOf(check())).message).toContain("'string | number' is not assignable");
  writeFileSync(join(cwd, "lib", "bonus.ts"), "export const bonus = 1;\nconst unused = 2;\n");
  await check();

  // A file that wasn't there before.
  const config = { compilerOptions: { module: "NodeNext", noUnusedLocals: true } };
  writeFileSync(join(cwd, "tsconfig.json"), JSON.stringify(config));
  expect((await rejectionOf(check())).message).toContain("'unused' is declared");
});

test("a memory of another check, or one that can't be read, counts for nothing", async () => {
  const cwd = tempFolder({ "reward.ts": good.replace("? 1 : 0", '? "yes" : 0') });
  const seen = join(cwd, ".genenv", "types.json");
  mkdirSync(join(cwd, ".genenv"));
  for (const text of ['{"key":"another","asked":[]}', '{"key":']) {
    writeFileSync(seen, text);
    const error = await rejectionOf(assertHookTypes([join(cwd, "reward.ts")], cwd));
    expect(error).toMatchObject({ code: "hook-types" });
    // Only what was right is remembered.
    expect(readFileSync(seen, "utf8")).toBe(text);
  }
});
