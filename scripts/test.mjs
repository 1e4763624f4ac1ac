// Runs every check and ends on one line, `N passed, N failed`, that adds all runners up.
// `node scripts/test.mjs` is `npm test`; `--full` adds the long checks; needs nothing installed but Node and Python.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const full = process.argv.includes("--full");
const reports = mkdtempSync(join(tmpdir(), "genenv-test-"));
const totals = { passed: 0, failed: 0 };

/** Runs a program with its output on the screen; true where it exits with 0. */
function run(command, args, env = {}) {
  console.log(`\n$ ${[command, ...args].join(" ")}`);
  const result = spawnSync(command, args, {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, ...env },
  });
  return result.status === 0;
}

/** A check that passes or fails as a whole. */
function check(command, args) {
  totals[run(command, args) ? "passed" : "failed"] += 1;
}

/** Tests whose runner writes how many passed; a runner that fails without a failed test counts as one. */
function suite(command, args, report, count, env) {
  const ok = run(command, args, env);
  const counted = existsSync(report)
    ? count(readFileSync(report, "utf8"))
    : { passed: 0, failed: 0 };
  totals.passed += counted.passed;
  totals.failed += counted.failed;
  if (!ok && counted.failed === 0) totals.failed += 1;
}

function countVitest(text) {
  const { numPassedTests, numFailedTests } = JSON.parse(text);
  return { passed: numPassedTests, failed: numFailedTests };
}

function countJunit(text) {
  const sum = (name) =>
    [...text.matchAll(new RegExp(`<testsuite [^>]*\\b${name}="(\\d+)"`, "g"))].reduce(
      (total, match) => total + Number(match[1]),
      0,
    );
  const failed = sum("failures") + sum("errors");
  return { passed: sum("tests") - failed - sum("skipped"), failed };
}

function vitest(name, args, env) {
  const report = join(reports, `${name}.json`);
  const out = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  suite("npx", ["vitest", "run", ...args, ...out], report, countVitest, env);
}

function main() {
  if (!existsSync(join(root, "node_modules")) && !run("npm", ["ci"])) return fail("npm ci failed");
  if (!run("npm", ["run", "--silent", "build"])) return fail("the build failed");
  if (!run("node", ["dist/sdk/cli/main.js", "setup"])) return fail("the Python set-up failed");
  const where = spawnSync("node", ["dist/sdk/cli/main.js", "setup", "--json"], {
    encoding: "utf8",
  });
  const { python } = JSON.parse(where.stdout);

  check("npx", ["biome", "check", "."]);
  check(python, ["-m", "ruff", "check", "."]);
  check(python, ["-m", "ruff", "format", "--check", "."]);
  check("npx", ["tsc", "--noEmit"]);
  check("npx", ["typedoc", "--emit", "none"]);
  vitest("unit", ["--project", "unit"]);
  const junit = join(reports, "pytest.xml");
  suite(python, ["-m", "pytest", "-q", `--junitxml=${junit}`], junit, countJunit);
  vitest("stack", ["--project", full ? "stack*" : "stack"]);
}

function fail(reason) {
  console.error(reason);
  totals.failed += 1;
}

main();
rmSync(reports, { recursive: true, force: true });
console.log(`\n${totals.passed} passed, ${totals.failed} failed`);
process.exit(totals.failed > 0 || totals.passed === 0 ? 1 : 0);
