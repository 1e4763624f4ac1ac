// npm's `prepare`: builds dist/ unless it is newer than every source. `npx genenv` in this folder runs it too,
// before its first command, and should not take half a minute to find out that there is nothing to do.
import { spawnSync } from "node:child_process";
import { lstatSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const stamp = `${root}dist/.built`;
const sources = [
  "sdk",
  "bridge",
  "scripts/build-page.mjs",
  "package.json",
  "tsconfig.json",
  "tsconfig.build.json",
];

function newestMs(path) {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(0, ...readdirSync(path).map((name) => newestMs(`${path}/${name}`)));
}

function builtMs() {
  return statSync(stamp, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

// The example notebooks find the package by its name, as in somebody's project.
const link = `${root}node_modules/genenv`;
if (!lstatSync(link, { throwIfNoEntry: false })) symlinkSync("..", link);

const newest = Math.max(...sources.map((source) => newestMs(`${root}${source}`)));
if (builtMs() <= newest) {
  rmSync(stamp, { force: true });
  const { status } = spawnSync("npm", ["run", "build"], { cwd: root, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
  writeFileSync(stamp, "");
}
