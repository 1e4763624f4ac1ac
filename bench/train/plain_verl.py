"""Plain veRL on a CPU, as ``python plain_verl.py default|ours KEY=VALUE...``.

It runs ``verl.trainer.main_ppo`` itself. ``default`` adds to veRL's defaults only what a CPU needs
to run them at all; ``ours`` adds what genenv chooses for a CPU too. Both from ``genenv.device``.
"""

import copy
import json
import os
import runpy
import sys
from pathlib import Path
from typing import Any

from genenv.device import CPU_OVERLAY, SINGLE_PROCESS_ROLLOUT, cpu_overlay, worker_environment

_REWARD = Path(__file__).with_name("sums_reward.py")
_KV_CACHE_BYTES = 2**30

# Wherever it runs: one process where one is enough, and a Ray of its own.
_EVERYWHERE: dict[str, Any] = {
    "algorithm": {"adv_estimator": "grpo"},
    "reward": {
        "custom_reward_function": {"path": str(_REWARD), "name": "compute_score"},
        "num_workers": 1,
    },
    "trainer": {
        "logger": ["console"],
        "save_freq": -1,
        "test_freq": -1,
        "val_before_train": False,
        "resume_mode": "disable",
    },
    "actor_rollout_ref": {
        "rollout": {"engine_kwargs": {"vllm": {"kv_cache_memory_bytes": _KV_CACHE_BYTES}}}
    },
    "ray_kwargs": {"ray_init": {"num_cpus": 64, "num_gpus": 1, "include_dashboard": False}},
}
# What genenv's own environment sets for speed alone.
_FAST_VARIABLES = ("VLLM_ENABLE_V1_MULTIPROCESSING", "OMP_WAIT_POLICY", "KMP_BLOCKTIME")


def main(settings: str, overrides: list[str]) -> None:
    environment = worker_environment("cpu", os.cpu_count() or 1)
    # veRL's own engine, which it registers for cuda and npu; genenv's for the CPU isn't plain veRL.
    environment["VERL_ENGINE_DEVICE"] = "cuda"
    trees = [_EVERYWHERE]
    if settings == "ours":
        trees += [cpu_overlay(), SINGLE_PROCESS_ROLLOUT]
    elif settings == "default":
        trees.append(_needed())
        for name in _FAST_VARIABLES:
            environment.pop(name)
    else:
        sys.exit(f"settings are default or ours, not {settings!r}")
    os.environ.update(environment)
    given = [f"++{path}={json.dumps(value)}" for tree in trees for path, value in _leaves(tree)]
    sys.argv = ["main_ppo", *given, *overrides]
    runpy.run_module("verl.trainer.main_ppo", run_name="__main__")


def _needed() -> dict[str, Any]:
    """``CPU_OVERLAY`` without its choices."""
    tree = copy.deepcopy(CPU_OVERLAY)
    del tree["actor_rollout_ref"]["model"]["enable_gradient_checkpointing"]
    return tree


def _leaves(tree: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Dotted paths of a nested mapping's values."""
    found: list[tuple[str, Any]] = []
    for key, value in tree.items():
        path = f"{prefix}{key}"
        found += _leaves(value, f"{path}.") if isinstance(value, dict) else [(path, value)]
    return found


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
