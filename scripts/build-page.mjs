// Bundles the report's page: one script and one stylesheet in dist/sdk/report, which the report's HTML takes in whole.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));

// Their licence asks that it goes along.
const licences = ["@observablehq/plot", "d3"].map(
  (name) => `${name}\n${readFileSync(join(root, "node_modules", name, "LICENSE"), "utf8").trim()}`,
);

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
    banner: { js: `/*!\n${licences.join("\n\n")}\n*/` },
    // The script stands inline: nothing in it may end its element.
    supported: { "inline-script": false },
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildPage();
