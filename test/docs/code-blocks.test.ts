import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import ts from "typescript";
import { afterAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { splitArguments } from "../../sdk/cli/arguments.js";
import { createProgram } from "../../sdk/cli/program.js";
import { parseOverride } from "../../sdk/config/assignment.js";
import { allKeys, verlKeyKind } from "../../sdk/config/keys.js";
import { resolveConfig } from "../../sdk/config/resolve.js";
import { type CodeBlock, codeBlocks, root } from "./pages.js";
import { commandLines } from "./shell.js";

const place = ({ page, line }: CodeBlock): string => `${page}:${line}`;
// Inside the project, so that zod and Node's types are found; git knows the folder's name.
const folder = join(root, ".genenv", `docs-${process.pid}`);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Writes a block under the name in its first line (`// reward.ts`), beside the others of its page. */
function writeBlock(block: CodeBlock): string {
  const name = /^\/\/ (\S+\.ts)\n/.exec(block.text)?.[1] ?? "block.ts";
  const page = block.page.replaceAll(/[^\w]+/g, "-");
  const file = join(folder, page, `line-${block.line}`, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, block.text);
  return file;
}

function typeErrors(files: string[]): string[] {
  const read = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(read.config, ts.sys, root);
  const paths = {
    genenv: [join(root, "sdk/index.ts")],
    "genenv/graders": [join(root, "sdk/graders/index.ts")],
    "genenv/notebook": [join(root, "sdk/notebook.ts")],
    "genenv/testing": [join(root, "sdk/testing.ts")],
    tslab: [join(root, "test/docs/tslab.d.ts")],
  };
  const program = ts.createProgram(files, { ...options, noEmit: true, declaration: false, paths });
  return ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => {
    const line = file?.getLineAndCharacterOfPosition(start ?? 0).line ?? 0;
    const text = ts.flattenDiagnosticMessageText(messageText, "\n");
    return `${file ? relative(folder, file.fileName) : ""}:${line + 1}: ${text}`;
  });
}

// One program for all: the types of the package and of zod are read once.
test("TypeScript in the documentation has the types it says it has", {
  timeout: 180_000,
}, () => {
  const blocks = codeBlocks(["ts"]);
  expect(blocks.length).toBeGreaterThan(5);
  const text = 'import { score } from "genenv";\nscore("high");\n';
  const wrong: CodeBlock = { page: "wrong.md", line: 1, language: "ts", text };
  expect(typeErrors([...blocks, wrong].map(writeBlock))).toEqual([
    "wrong-md/line-1/block.ts:2: Argument of type 'string' is not assignable to parameter of type 'number'.",
  ]);
});

describe("the README's hooks", () => {
  const load = async <T>(name: string): Promise<T> => {
    const block = codeBlocks(["ts"]).find(
      ({ page, text }) => page === "README.md" && text.startsWith(`// ${name}\n`),
    );
    if (!block) throw new Error(`the README has no ${name}`);
    return ((await import(writeBlock(block))) as { default: T }).default;
  };
  const signal = new AbortController().signal;

  test("score sorted words as the README says", async () => {
    const reward = await load<import("../../sdk/index.js").RewardHook<never, never>>("reward.ts");
    const given = (response: string, groundTruth: string[]) =>
      reward.score({ response, groundTruth: groundTruth as never, taskId: "t", signal });
    const gold = ["apple", "fig", "pear"];
    expect(given("Sorted: apple, fig, pear.", gold)).toMatchObject({ value: 1, success: true });
    expect(given("fig, apple, pear", gold)).toMatchObject({ value: 1 / 3, success: false });
    expect(given("", gold)).toMatchObject({ value: 0, metrics: { words: 0 } });
    expect(given("fig", [])).toMatchObject({ kind: "abstain" });
  });

  test("make tasks with right answers, or reject with a reason", async () => {
    const environment = await load<import("../../sdk/index.js").EnvironmentHook>("environment.ts");
    expect(environment.parse({ answer: "Plum fig, APPLE fig", seeds: [] })).toEqual([
      {
        kind: "accept",
        task: {
          prompt: "Sort these words: plum, fig, apple",
          groundTruth: ["apple", "fig", "plum"],
        },
      },
    ]);
    expect(environment.parse({ answer: "one two", seeds: [] })).toEqual([
      { kind: "reject", reason: "not-3-to-8-words" },
    ]);
  });
});

const yamlBlocks = codeBlocks(["yaml"]).filter(({ text }) => /^(genenv|data)[:.]/m.test(text));

test.each(yamlBlocks.map((block) => ({ name: place(block), block })))(
  "the configuration at $name resolves",
  ({ block }) => {
    const config = parse(block.text) as Record<string, unknown>;
    expect(() => resolveConfig({ config, cwd: folder })).not.toThrow();
  },
);

const commands = codeBlocks(["sh", "bash"]).flatMap((block) =>
  commandLines(block.text).map((words) => ({ name: place(block), words, line: words.join(" ") })),
);

describe("commands in the documentation", () => {
  test("there are some", () => {
    expect(commands.length).toBeGreaterThan(5);
  });

  test.each(commands)("$name: $line", ({ words }) => {
    expect(problemsOf(words)).toEqual([]);
  });

  test("one that does not exist, with an option and a key that don't either, is found out", () => {
    expect(problemsOf(["walk"])).toEqual(["no command walk"]);
    expect(problemsOf(["run", "--fast", "genenv.alpho=1"])).toEqual([
      "no option --fast",
      "no key genenv.alpho",
    ]);
  });
});

/** What a command line (the words after `genenv`) names that does not exist. */
function problemsOf([name = "", ...words]: readonly string[]): string[] {
  const program = createProgram();
  const command = name.startsWith("-")
    ? program
    : program.commands.find((known) => known.name() === name);
  if (!command) return [`no command ${name}`];
  const options = words.filter((word) => word.startsWith("--"));
  const known = (flag: string): boolean =>
    flag === "--help" || command.options.some(({ long }) => long === flag);
  const unknown = options
    .map((word) => word.split("=")[0] ?? word)
    .filter((flag) => !known(flag))
    .map((flag) => `no option ${flag}`);
  return [...unknown, ...unknownKeys(words.filter((word) => !word.startsWith("--")))];
}

function unknownKeys(words: readonly string[]): string[] {
  const keys = new Set(allKeys());
  return splitArguments(words)
    .overrides.filter((word) => /^(\+|~)|=/.test(word))
    .map((word) => parseOverride(word, root))
    .filter(({ operation }) => operation !== "add" && operation !== "force")
    .map(({ path }) => path)
    .filter((path) => {
      const own = path[0] === "genenv" && path[1] === "env" ? path.slice(2) : path;
      return !keys.has(own.join(".")) && verlKeyKind(own).kind === "unknown";
    })
    .map((path) => `no key ${path.join(".")}`);
}
