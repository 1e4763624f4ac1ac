// npm run fuzz [frames]: a million mutated frames (by default) against the decoders of both languages.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const frames = process.argv[2] ?? "1000000";
const seed = process.argv[3] ?? String(Date.now() % 1_000_000);
const python = process.env.GENENV_TEST_PYTHON ?? "python3";
const env = { ...process.env, GENENV_FUZZ_FRAMES: frames, GENENV_FUZZ_SEED: seed };
const runs = [
  ["npx", ["vitest", "run", "test/bridge/wire.test.ts", "-t", "mutated"]],
  [python, ["-m", "pytest", "-q", "test/py/test_wire.py", "-k", "mutated"]],
];
console.log(`${frames} frames a side, seed ${seed}`);
for (const [command, args] of runs) {
  const cwd = fileURLToPath(new URL("..", import.meta.url));
  const { status } = spawnSync(command, args, { cwd, env, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
