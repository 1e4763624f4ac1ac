import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, extname, join } from "node:path";

/** What `genenv init` can begin with: each is a folder of the package's examples. */
export const templates = {
  arithmetic: "one-digit sums; the answers are worked out in code",
  math: "small problems with boxed answers",
  "tool-calling": "requests and their tool calls, checked against zod schemas",
  "web-actions": "one action on a web page; also run as a program",
  blank: "a reward and an environment to write yourself",
} as const;

export type TemplateName = keyof typeof templates;

export const isTemplate = (name: string): name is TemplateName => Object.hasOwn(templates, name);

/** A project's files, by their path in it. */
export type ProjectFiles = Map<string, string | Buffer>;

const defaultConfig = "configs/genenv_config.yaml";

/** The files of a new project: the example's own, with their paths moved, and what makes a project of them. */
export function projectFiles(template: TemplateName, folder: string, root: string): ProjectFiles {
  const example = join(root, "examples", template);
  const files: ProjectFiles = new Map();
  for (const name of readdirSync(example, { recursive: true, encoding: "utf8" }).sort()) {
    const extension = extname(name);
    if (extension === "") continue;
    const content = readFileSync(join(example, name));
    const moved = extension === ".parquet" ? content : moveText(content.toString(), template);
    files.set(movePath(name), moved);
  }
  if (!files.has(defaultConfig)) {
    const text = readFileSync(join(root, defaultConfig), "utf8");
    files.set(defaultConfig, moveText(text, template));
  }
  files.set("package.json", packageJson(folder, root));
  files.set("tsconfig.json", tsconfig);
  files.set(".gitignore", "node_modules/\nruns/\n.genenv/\n");
  return files;
}

/** Where a file of an example stands in a project: the CPU's configuration is the one that `genenv run` takes. */
function movePath(name: string): string {
  if (name === "cpu.yaml") return defaultConfig;
  return name.endsWith(".yaml") ? `configs/${name}` : name;
}

function moveText(text: string, template: TemplateName): string {
  return text
    .replaceAll(` examples/${template}/cpu.yaml`, ` ${defaultConfig}`)
    .replaceAll(`"examples/${template}/cpu.yaml"`, `"${defaultConfig}"`)
    .replaceAll(new RegExp(`examples/${template}/([\\w-]+\\.yaml)`, "g"), "configs/$1")
    .replaceAll(`./examples/${template}/`, "./")
    .replaceAll(`examples/${template}/`, "");
}

function packageJson(folder: string, root: string): string {
  const own = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    version: string;
    dependencies: Record<string, string>;
    devDependencies: Record<string, string>;
  };
  const versions = { ...own.devDependencies, ...own.dependencies };
  const pick = (names: string[]): Record<string, string> =>
    Object.fromEntries(names.map((name) => [name, versions[name] ?? "*"]));
  const project = {
    name: packageName(folder),
    private: true,
    type: "module",
    scripts: {
      check: "genenv check",
      start: "genenv run",
      test: "vitest run",
      types: "tsc",
      data: "esbuild make-data.ts --bundle --packages=external --platform=node --format=esm --outfile=.genenv/make-data.mjs && node .genenv/make-data.mjs",
    },
    dependencies: { genenv: `^${own.version}`, ...pick(["zod"]) },
    devDependencies: pick(["@types/node", "esbuild", "typescript", "vitest"]),
  };
  return `${JSON.stringify(project, null, 2)}\n`;
}

function packageName(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, "-");
  return name.replace(/^[._-]+/, "") || "genenv-project";
}

const tsconfig = `${JSON.stringify(
  {
    compilerOptions: {
      target: "ES2022",
      module: "NodeNext",
      strict: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: true,
      types: ["node"],
      noEmit: true,
    },
    include: ["*.ts"],
  },
  null,
  2,
)}\n`;

/** Which of the files are in the folder already: those that stop `init`, and those that are simply kept. */
export function existing(
  files: ProjectFiles,
  folder: string,
): { inTheWay: string[]; kept: string[] } {
  const there = [...files.keys()].filter((name) => existsSync(join(folder, name)));
  const keep = new Set(["package.json", "tsconfig.json", ".gitignore"]);
  return {
    inTheWay: there.filter((name) => !keep.has(name)),
    kept: there.filter((name) => keep.has(name)),
  };
}
