/** Compiles a user's hook file into one importable file beside the project. */
import { createHash, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createRequire, isBuiltin } from "node:module";
import { basename, dirname, extname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import {
  type BuildContext,
  type BuildFailure,
  type BuildOptions,
  type BuildResult,
  build,
  context,
  type Loader,
  type Plugin,
} from "esbuild";
import { HookError } from "../errors.js";
import { putInPlace } from "../whole-file.js";
import type { ImportRef } from "./messages.js";

/** A hook in a file: a path (relative ones from the project) and the export's name. */
export type FileRef = { path: string; exportName: string };

/** The folder of this package's own modules: dist, or the sources where they run as they are. */
const OWN_FOLDER = fileURLToPath(new URL("../../", import.meta.url));

/**
 * The file to import for a hook. The package's own modules are imported as they are; a user's file is bundled with
 * the project files it imports, so that every worker of a run sees the same code even if files change meanwhile.
 * Packages stay external and resolve from the project.
 */
export async function compileHook(ref: FileRef, projectDir: string): Promise<ImportRef> {
  return new HookCompiler(projectDir, false).compile(ref);
}

/** Compiles hooks; one that is to do so again keeps what it has parsed, until it is closed. */
export class HookCompiler {
  readonly #projectDir: string;
  readonly #isKept: boolean;
  readonly #contexts = new Map<string, Promise<BuildContext<HookBuild>>>();

  constructor(projectDir: string, isKept: boolean) {
    this.#projectDir = projectDir;
    this.#isKept = isKept;
  }

  compile(ref: FileRef): Promise<ImportRef> {
    return importable(ref, this.#projectDir, (source, folder) => this.#build(source, folder));
  }

  async close(): Promise<void> {
    const contexts = [...this.#contexts.values()];
    this.#contexts.clear();
    for (const each of contexts) await (await each).dispose();
  }

  async #build(source: string, folder: string): Promise<BuildResult<HookBuild>> {
    if (!this.#isKept) return build(hookBuild(source, folder));
    const known = this.#contexts.get(source) ?? context(hookBuild(source, folder));
    this.#contexts.set(source, known);
    return (await known).rebuild();
  }
}

type Build = (source: string, folder: string) => Promise<BuildResult<HookBuild>>;

async function importable(ref: FileRef, projectDir: string, run: Build): Promise<ImportRef> {
  const source = resolve(projectDir, ref.path);
  if (!existsSync(source)) {
    throw new HookError(`there is no hook file ${source}`, {
      code: "hook-missing",
      hint: `paths are taken from ${resolve(projectDir)}; check genenv.hooks in the configuration`,
      place: { file: source },
    });
  }
  if (
    source.startsWith(OWN_FOLDER) &&
    extname(source) === ".js" &&
    // Below this package only: where it is installed, its own folder is in a node_modules too.
    !source.slice(OWN_FOLDER.length).includes("node_modules")
  ) {
    return { file: source, source, exportName: ref.exportName };
  }
  const folder = join(resolve(projectDir), ".genenv", "hooks");
  const code = await bundle(source, folder, run);
  const hash = createHash("sha256").update(code).digest("hex").slice(0, 16);
  const file = join(folder, `${hash}.mjs`);
  if (!existsSync(file)) await writeAtomically(file, code);
  return { file, source, exportName: ref.exportName };
}

/** How a hook file is bundled: with what of the project it imports. */
export type HookBuild = BuildOptions & { write: false };

export function hookBuild(source: string, folder: string): HookBuild {
  return {
    entryPoints: [source],
    outfile: join(folder, "hook.mjs"),
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    sourcemap: "inline",
    sourcesContent: false,
    keepNames: true,
    logLevel: "silent",
    define: { "import.meta.url": META_URL },
    plugins: [packages(folder), metaUrl],
  };
}

async function bundle(source: string, folder: string, run: Build): Promise<string> {
  try {
    const { outputFiles } = await run(source, folder);
    return (outputFiles[0] as { text: string }).text;
  } catch (error) {
    throw compileError(source, error);
  }
}

function compileError(source: string, error: unknown): HookError {
  const { errors = [] } = error as Partial<BuildFailure>;
  const first = errors[0];
  const at = first?.location;
  const place = at
    ? { file: resolve(at.file), line: at.line, column: at.column + 1 }
    : { file: source };
  const text = first?.text ?? (error as Error).message;
  const where = at ? `${place.file}:${at.line}:${at.column + 1}` : source;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  return new HookError(`${where}: ${text}${more}`, {
    code: "hook-compile",
    hint: at?.lineText ? `the line is: ${at.lineText.trim()}` : null,
    place,
    cause: error,
  });
}

async function writeAtomically(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const partial = join(dirname(file), `.${basename(file)}.${randomUUID()}`);
  await writeFile(partial, text);
  putInPlace(partial, file);
}

/**
 * `genenv` in a hook is the copy that runs it, bundled: a worker then loads the few functions a hook uses and not the
 * whole package. What that copy imports is named by its file: the project may not see it (pnpm), or have another version.
 * Other packages are the project's; one that only a hook's own folder has is named by its file too, since the bundle
 * lies elsewhere. zod is the project's for both, and ours where nobody else has one.
 */
function packages(bundleFolder: string): Plugin {
  const ours = createRequire(import.meta.url);
  const bundle = createRequire(join(bundleFolder, "hook.mjs"));
  return {
    name: "genenv-packages",
    setup({ onResolve }) {
      onResolve({ filter: /^genenv(\/.*)?$/ }, ({ path }) => {
        const file = resolveIn(ours, path);
        return file === null ? null : { path: file };
      });
      onResolve({ filter: /^[^./]/ }, ({ path, importer }) => {
        if (importer === "" || isBuiltin(path)) return null;
        const isZod = /^zod(\/|$)/.test(path);
        if (importer.startsWith(OWN_FOLDER) && !isZod) {
          return { path: import.meta.resolve(path), external: true };
        }
        if (resolveIn(bundle, path) !== null) return null;
        const file = resolveIn(createRequire(importer), path);
        return external(file ?? (isZod ? resolveIn(ours, path) : null));
      });
    },
  };
}

function resolveIn(require: NodeJS.Require, name: string): string | null {
  try {
    return require.resolve(name);
  } catch {
    return null;
  }
}

function external(file: string | null): { path: string; external: true } | null {
  return file === null ? null : { path: pathToFileURL(file).href, external: true };
}

const META_URL = "__genenvModuleUrl";

/** Keeps `import.meta.url` what the author means by it: the address of their own file. */
const metaUrl: Plugin = {
  name: "genenv-meta-url",
  setup({ onLoad }) {
    onLoad({ filter: /\.[cm]?[jt]sx?$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      if (!text.includes("import.meta.url")) return null;
      // On the first line, so that line numbers stay true.
      const contents = `const ${META_URL} = ${JSON.stringify(pathToFileURL(path).href)}; ${text}`;
      return { contents, loader: loaderOf(path) };
    });
  },
};

function loaderOf(path: string): Loader {
  const kind = extname(path).replace(/^\.[cm]?/, "");
  return kind === "ts" || kind === "tsx" || kind === "jsx" ? kind : "js";
}
