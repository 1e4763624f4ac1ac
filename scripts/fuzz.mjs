// npm run fuzz [frames]: a million mutated frames (by default) against the decoders of both languages.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const frames = process.argv[2] ?? "1000000";
const seed = process.argv[3] ?? String(Date.now() % 1_000_000);
// Where the package is built and set up, as `npm test` leaves it.
const { stdout } = spawnSync("node", ["dist/sdk/cli/main.js", "setup", "--json"], {
  cwd: root,
  encoding: "utf8",
  stdio: ["ignore", "pipe", "inherit"],
});
const { python } = JSON.parse(stdout);
const env = { ...process.env, GENENV_FUZZ_FRAMES: frames, GENENV_FUZZ_SEED: seed };
const runs = [
  ["npx", ["vitest", "run", "test/bridge/wire.test.ts", "-t", "mutated"]],
  [python, ["-m", "pytest", "-q", "test/py/test_wire.py", "-k", "mutated"]],
];
console.log(`${frames} frames a side, seed ${seed}`);
for (const [command, args] of runs) {
  const { status } = spawnSync(command, args, { cwd: root, env, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
