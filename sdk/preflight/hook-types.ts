import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import type ts from "typescript";
import { HookError } from "../../bridge/errors.js";
import { packageRoot } from "../../bridge/python/paths.js";

type TypeScript = typeof ts;

const shown = 10;

/**
 * Throws a HookError "hook-types" where TypeScript's own checker finds errors in these hook files, or in the project's files
 * that they import. The project's TypeScript and tsconfig.json are used where there are any. JavaScript isn't looked at.
 */
export async function assertHookTypes(files: readonly string[], projectDir: string): Promise<void> {
  const sources = [...new Set(files)].filter(
    (file) => /\.[cm]?tsx?$/.test(file) && existsSync(file),
  );
  const [first] = sources;
  if (first === undefined) return;
  const compiler = await loadTypeScript(projectDir);
  const options = optionsFor(compiler, first);
  const program = compiler.createProgram(sources, options);
  const problems = program
    .getSourceFiles()
    .filter((file) => !file.isDeclarationFile && !program.isSourceFileFromExternalLibrary(file))
    .flatMap((file) => [
      ...program.getSyntacticDiagnostics(file),
      ...program.getSemanticDiagnostics(file),
    ]);
  if (problems.length > 0) throw typeError(compiler, problems, projectDir);
}

/** The project's own, where it has one with a compiler's interface; else the one that comes along. */
async function loadTypeScript(projectDir: string): Promise<TypeScript> {
  const require = createRequire(join(projectDir, "package.json"));
  try {
    const own = require("typescript") as Partial<TypeScript>;
    if (typeof own.createProgram === "function") return own as TypeScript;
  } catch {
    // The project has none.
  }
  return (await import("typescript")).default;
}

function optionsFor(compiler: TypeScript, file: string): ts.CompilerOptions {
  const options = { ...projectOptions(compiler, dirname(file)), ...always };
  const paths = { ...options.paths, ...missingPackages(compiler, file, options) };
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

function projectOptions(compiler: TypeScript, folder: string): ts.CompilerOptions {
  const file = compiler.findConfigFile(folder, compiler.sys.fileExists);
  if (file === undefined) {
    const { ES2022 } = compiler.ScriptTarget;
    return { target: ES2022, module: compiler.ModuleKind.NodeNext, strict: true };
  }
  const { config } = compiler.readConfigFile(file, compiler.sys.readFile);
  return compiler.parseJsonConfigFileContent(config ?? {}, compiler.sys, dirname(file)).options;
}

/** Where the packages are that a hook has without its project installing them: this one, and zod. */
function missingPackages(
  compiler: TypeScript,
  file: string,
  options: ts.CompilerOptions,
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
  const isMissing = (name: string): boolean =>
    compiler.resolveModuleName(name, file, options, compiler.sys).resolvedModule === undefined;
  return Object.fromEntries(
    Object.entries(known).flatMap(([name, path]) => (isMissing(name) ? [[name, [path]]] : [])),
  );
}

function typeError(
  compiler: TypeScript,
  problems: readonly ts.Diagnostic[],
  projectDir: string,
): HookError {
  const lines = problems.slice(0, shown).map((problem) => {
    const place = placeOf(problem);
    const text = compiler.flattenDiagnosticMessageText(problem.messageText, "\n");
    const spot = place && `${relative(projectDir, place.file)}:${place.line}:${place.column}: `;
    return `${spot ?? ""}${text} (TS${problem.code})`;
  });
  const more = problems.length - lines.length;
  const message = [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join("\n");
  return new HookError(message, {
    code: "hook-types",
    hint: "mend the types; a run doesn't check them, and would start",
    place: placeOf(problems[0] as ts.Diagnostic),
  });
}

function placeOf({ file, start }: ts.Diagnostic): {
  file: string;
  line: number;
  column: number;
} | null {
  if (file === undefined || start === undefined) return null;
  const { line, character } = file.getLineAndCharacterOfPosition(start);
  return { file: file.fileName, line: line + 1, column: character + 1 };
}
