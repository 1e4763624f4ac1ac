import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import ts from "typescript";
import { describe, expect, test } from "vitest";
import { initCommand } from "../../../sdk/cli/init-command.js";
import { resolveConfig } from "../../../sdk/config/resolve.js";
import { templates } from "../../../sdk/init/template.js";
import { preflight } from "../../../sdk/preflight/preflight.js";
import { rejectionOf, tempFolder } from "../temp.js";

const root = join(import.meta.dirname, "..", "..", "..");
const names = Object.keys(templates);

async function init(
  cwd: string,
  folder: string | undefined,
  template?: string,
  answers?: string[],
): Promise<string> {
  let text = "";
  const output = { write: (part: string) => (text += part) };
  const ask = answers ? async () => answers.shift() ?? "" : null;
  expect(await initCommand(folder, { template }, { output, ask, cwd })).toBe(0);
  return text;
}

// One program for all: the types of the package and of zod are read once.
test("every template makes a project that type-checks", { timeout: 120_000 }, async () => {
  const cwd = tempFolder();
  symlinkSync(join(root, "node_modules"), join(cwd, "node_modules"));
  for (const name of names) await init(cwd, name, name);
  const read = ts.readConfigFile(join(cwd, "blank", "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(read.config, ts.sys, join(cwd, "blank"));
  const files = names.flatMap((name) =>
    readdirSync(join(cwd, name))
      .filter((file) => file.endsWith(".ts"))
      .map((file) => join(cwd, name, file)),
  );
  const paths = {
    genenv: [join(root, "sdk/index.ts")],
    "genenv/graders": [join(root, "sdk/graders/index.ts")],
    "genenv/testing": [join(root, "sdk/testing.ts")],
  };
  const program = ts.createProgram(files, { ...options, paths });
  const errors = ts.getPreEmitDiagnostics(program).map(({ file, messageText }) => {
    const text = ts.flattenDiagnosticMessageText(messageText, "\n");
    return `${file ? relative(cwd, file.fileName) : ""}: ${text}`;
  });
  expect(errors).toEqual([]);
});

describe.each(names)("the template %s", (template) => {
  test("makes a project whose configurations resolve and pass preflight", async () => {
    const cwd = tempFolder();
    await init(cwd, "my project", template);
    const folder = join(cwd, "my project");
    const config = resolveConfig({ cwd: folder, name: "one" });
    expect(config.genenv.hooks.reward).toBe(join(folder, "reward.ts"));
    await preflight(config);
    for (const file of readdirSync(join(folder, "configs"))) {
      const other = resolveConfig({ config: `configs/${file}`, cwd: folder, name: "one" });
      expect(existsSync(other.genenv.hooks.environment ?? "")).toBe(true);
    }
  });

  test("leaves nothing in it that names the examples", async () => {
    const cwd = tempFolder();
    await init(cwd, ".", template);
    const texts = readdirSync(cwd, { recursive: true, encoding: "utf8" }).filter((name) =>
      /\.(ts|yaml|md|json)$/.test(name),
    );
    expect(texts).toContain("reward.test.ts");
    expect(
      texts.filter((name) => readFileSync(join(cwd, name), "utf8").includes("examples/")),
    ).toEqual([]);
  });
});

test("the package is named after the folder, and needs this genenv", async () => {
  const cwd = tempFolder();
  await init(cwd, "My Project", "blank");
  const own = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  expect(JSON.parse(readFileSync(join(cwd, "My Project", "package.json"), "utf8"))).toMatchObject({
    name: "my-project",
    type: "module",
    dependencies: { genenv: `^${own.version}`, zod: own.dependencies.zod },
    devDependencies: { vitest: own.devDependencies.vitest },
  });
});

test("never writes over a file, and writes nothing at all then", async () => {
  const cwd = tempFolder({ "reward.ts": "mine" });
  const error = await rejectionOf(init(cwd, ".", "blank"));
  expect(error).toMatchObject({ code: "file-exists", message: `${cwd} has reward.ts already` });
  expect(readdirSync(cwd)).toEqual(["reward.ts"]);
  expect(readFileSync(join(cwd, "reward.ts"), "utf8")).toBe("mine");
});

test("keeps a project's own package.json, and says what it needs", async () => {
  const cwd = tempFolder();
  writeFileSync(join(cwd, "package.json"), "{}");
  expect(await init(cwd, ".", "blank")).toContain(
    'kept package.json as they are: the project needs "type": "module"',
  );
  expect(readFileSync(join(cwd, "package.json"), "utf8")).toBe("{}");
});

test("asks for template and folder on a terminal, by number or by name", async () => {
  const cwd = tempFolder();
  const text = await init(cwd, undefined, undefined, ["2", "here"]);
  expect(text).toContain("  5  blank         a reward and an environment to write yourself\n");
  expect(text).toContain("from the template math\n");
  expect(existsSync(join(cwd, "here", "problems.ts"))).toBe(true);
  expect(await init(cwd, "there", undefined, ["blank"])).toContain("from the template blank\n");
});

test("asks nothing without a terminal: sums, in this folder, and says so", async () => {
  const cwd = tempFolder();
  expect(await init(cwd, undefined)).toContain("from the template arithmetic\nnext: npm install\n");
});

test("a template that isn't there names those that are", async () => {
  const error = await rejectionOf(init(tempFolder(), ".", "chess"));
  expect(error).toMatchObject({
    code: "unknown-template",
    message: 'there is no template "chess"',
    hint: `the templates are ${names.join(", ")}`,
  });
});
