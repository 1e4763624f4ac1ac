import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import type ts from "typescript";
import type { ErrorPlace } from "../../bridge/errors.js";
import { packageRoot } from "../../bridge/python/paths.js";
import { type Asked, ask, isKnownGood, rememberGood } from "./type-memory.js";

type TypeScript = typeof ts;

/** What TypeScript has to say of hook files, and where the first error is. */
export interface TypeProblem {
  message: string;
  place: ErrorPlace | null;
}

const shown = 10;

/**
 * The type errors in these hook files and in the project's files that they import; null where there are none. The
 * project's TypeScript and tsconfig.json are used where there are any. JavaScript isn't looked at.
 */
export function typeProblem(files: readonly string[], projectDir: string): TypeProblem | null {
  const sources = [...new Set(files)].filter(
    (file) => /\.[cm]?tsx?$/.test(file) && existsSync(file),
  );
  const [first] = sources;
  if (first === undefined) return null;
  const from = typeScriptOf(projectDir);
  const key = JSON.stringify([from, packageRoot(), sources]);
  if (isKnownGood(projectDir, key)) return null;
  const compiler = createRequire(import.meta.url)(from) as TypeScript;
  const asked: Asked = new Map();
  // What the check is made with.
  for (const file of [from, join(packageRoot(), "package.json")]) ask(asked, "content", file);
  const disk = watchedDisk(compiler, asked);
  const sys = { ...compiler.sys, ...disk };
  const options = optionsFor(compiler, first, sys);
  const host = Object.assign(compiler.createCompilerHost(options), disk);
  // Comments are most of the declarations' text, and few of them can hold an error.
  host.jsDocParsingMode = compiler.JSDocParsingMode?.ParseForTypeErrors;
  const program = compiler.createProgram(sources, options, host);
  const problems = program
    .getSourceFiles()
    .filter((file) => !file.isDeclarationFile && !program.isSourceFileFromExternalLibrary(file))
    .flatMap((file) => [
      ...program.getSyntacticDiagnostics(file),
      ...program.getSemanticDiagnostics(file),
    ]);
  if (problems.length > 0) return toProblem(compiler, problems, projectDir);
  rememberGood(projectDir, key, asked);
  return null;
}

/** The file of the project's own, where it has one with a compiler's interface; else of the one that comes along. */
function typeScriptOf(projectDir: string): string {
  try {
    const own = createRequire(join(projectDir, "package.json")).resolve("typescript");
    // TypeScript 7 has another interface.
    if (existsSync(join(dirname(own), "typescript.js"))) return own;
  } catch {
    // The project has none.
  }
  return createRequire(import.meta.url).resolve("typescript");
}

type Disk = Pick<ts.System, "readFile" | "fileExists" | "directoryExists" | "getDirectories">;

/** The disk as the compiler sees it, with each question noted. */
function watchedDisk({ sys }: TypeScript, asked: Asked): Disk {
  return {
    readFile: (path, encoding) => {
      ask(asked, "content", path);
      return sys.readFile(path, encoding);
    },
    fileExists: (path) => {
      ask(asked, "file", path);
      return sys.fileExists(path);
    },
    directoryExists: (path) => {
      ask(asked, "folder", path);
      return sys.directoryExists(path);
    },
    getDirectories: (path) => {
      ask(asked, "names", path);
      return sys.getDirectories(path);
    },
  };
}

function optionsFor(compiler: TypeScript, file: string, sys: ts.System): ts.CompilerOptions {
  const options = { ...projectOptions(compiler, dirname(file), sys), ...always };
  const paths = { ...options.paths, ...ownPackages(compiler, file, { options, sys }) };
  return Object.keys(paths).length === 0 ? options : { ...options, paths };
}

// Nothing is written, and what esbuild takes is taken.
const always = {
  noEmit: true,
  declaration: false,
  composite: false,
  incremental: false,
  skipLibCheck: true,
  allowImportingTsExtensions: true,
};

function projectOptions(compiler: TypeScript, folder: string, sys: ts.System): ts.CompilerOptions {
  const file = compiler.findConfigFile(folder, sys.fileExists);
  if (file === undefined) {
    const { ES2022 } = compiler.ScriptTarget;
    return { target: ES2022, module: compiler.ModuleKind.NodeNext, strict: true };
  }
  const { config } = compiler.readConfigFile(file, sys.readFile);
  return compiler.parseJsonConfigFileContent(config ?? {}, sys, dirname(file), {}, file).options;
}

/**
 * Where the packages are that a hook has without its project installing them: this one, and zod. In this package's own
 * tree its name leads to the sources, which a hook's check is not about: there the declarations are taken too.
 */
function ownPackages(
  compiler: TypeScript,
  file: string,
  { options, sys }: { options: ts.CompilerOptions; sys: ts.System },
): Record<string, string[]> {
  const types = (name: string): string => join(packageRoot(), "dist", "sdk", name);
  const zod = createRequire(import.meta.url)
    .resolve("zod")
    .replace(/\.[cm]?js$/, ".d.ts");
  const known = {
    genenv: types("index.d.ts"),
    "genenv/graders": types("graders/index.d.ts"),
    "genenv/testing": types("testing.d.ts"),
    zod,
  };
  const isDeclared = (name: string): boolean => {
    const { resolvedModule } = compiler.resolveModuleName(name, file, options, sys);
    return resolvedModule !== undefined && /\.d\.[cm]?ts$/.test(resolvedModule.extension);
  };
  return Object.fromEntries(
    Object.entries(known).flatMap(([name, path]) => (isDeclared(name) ? [] : [[name, [path]]])),
  );
}

function toProblem(
  compiler: TypeScript,
  problems: readonly ts.Diagnostic[],
  projectDir: string,
): TypeProblem {
  const lines = problems.slice(0, shown).map((problem) => {
    const place = placeOf(problem);
    const text = compiler.flattenDiagnosticMessageText(problem.messageText, "\n");
    const spot = place && `${relative(projectDir, place.file)}:${place.line}:${place.column}: `;
    return `${spot ?? ""}${text} (TS${problem.code})`;
  });
  const more = problems.length - lines.length;
  const message = [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join("\n");
  return { message, place: placeOf(problems[0] as ts.Diagnostic) };
}

function placeOf({ file, start }: ts.Diagnostic): Required<Omit<ErrorPlace, "at">> | null {
  if (file === undefined || start === undefined) return null;
  const { line, character } = file.getLineAndCharacterOfPosition(start);
  return { file: file.fileName, line: line + 1, column: character + 1 };
}
