// Bundles what is drawn with Observable Plot: the report's page (a script and a stylesheet in dist/sdk/report, which the
// report's HTML takes in whole) and the notebook's plots, so that neither Plot nor a DOM is a dependency of the package.
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));

// Their licence asks that it goes along.
const licences = (...names) =>
  names
    .map((name) => `${name}\n${readFileSync(join(root, "node_modules", name, "LICENSE"), "utf8")}`)
    .join("\n");

/** Bundles sdk/report/page into dist/sdk/report/page.js and page.css.
 *  @returns {Promise<void>} */
export async function buildPage() {
  await build({
    entryPoints: [
      { in: join(root, "sdk/report/page/main.ts"), out: "page" },
      { in: join(root, "sdk/report/page/page.css"), out: "page" },
    ],
    outdir: join(root, "dist/sdk/report"),
    bundle: true,
    minify: true,
    charset: "ascii",
    format: "iife",
    platform: "browser",
    target: "es2022",
    legalComments: "none",
    logLevel: "error",
    banner: { js: `/*!\n${licences("@observablehq/plot", "d3")}*/` },
    // The script stands inline: nothing in it may end its element.
    supported: { "inline-script": false },
  });
}

/** Bundles sdk/notebook/plots.ts over the file of the same name that tsc wrote.
 *  @returns {Promise<void>} */
export async function buildPlots() {
  const outfile = join(root, "dist/sdk/notebook/plots.js");
  rmSync(`${outfile}.map`, { force: true });
  await build({
    entryPoints: [join(root, "sdk/notebook/plots.ts")],
    outfile,
    bundle: true,
    minify: true,
    format: "esm",
    platform: "node",
    target: "node20",
    legalComments: "none",
    logLevel: "error",
    banner: { js: `/*!\n${licences("@observablehq/plot", "d3", "linkedom")}*/` },
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await buildPage();
  await buildPlots();
}
