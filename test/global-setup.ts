/**
 * Brings dist up to date before the tests: hook hosts and their workers are processes that run from there.
 * Transpiles only, in a moment; the types are checked by `npm run types`.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { buildPage, buildPlots } from "../scripts/build-page.mjs";

const root = join(import.meta.dirname, "..");

export default async function setup(): Promise<void> {
  const sources = ["sdk", "bridge"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && !file.startsWith("report/page"))
      .map((file) => join(root, folder, file)),
  );
  await build({
    entryPoints: sources,
    outbase: root,
    outdir: join(root, "dist"),
    format: "esm",
    platform: "node",
    target: "es2022",
    sourcemap: true,
    // As tsc does; the package test packs what is in dist.
    sourcesContent: false,
    logLevel: "error",
  });
  await buildPage();
  await buildPlots();
}
