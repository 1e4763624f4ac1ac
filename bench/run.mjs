// npm run bench:NAME: compiles bench/NAME.ts against the built package and runs its main().
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const [name, ...args] = process.argv.slice(2);
const outfile = `${root}node_modules/.cache/genenv/bench-${name}.mjs`;
await build({
  entryPoints: [`${root}bench/${name}.ts`],
  outfile,
  bundle: true,
  format: "esm",
  platform: "node",
  packages: "external",
  logLevel: "error",
  plugins: [
    {
      name: "built-package",
      setup({ onResolve }) {
        onResolve({ filter: /^(\.\.\/)+(bridge|sdk)\// }, ({ path }) => ({
          path: pathToFileURL(`${root}dist/${path.replace(/^(\.\.\/)+/, "")}`).href,
          external: true,
        }));
      },
    },
  ],
});
const { main } = await import(pathToFileURL(outfile).href);
process.exit(await main(args, root));
