"""Each CPU patch twice: that it works, and that veRL, PyTorch or vLLM still need it.

A test named "... still ..." fails when upstream no longer needs the patch: then take it out of
plugin/cpu_patches.py.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs the Python environment of genenv setup")

# Looked for, not imported: the attempts run in processes of their own.
if not all(importlib.util.find_spec(name) for name in ("verl", "vllm")):
    pytest.skip("needs the Python environment of genenv setup", allow_module_level=True)
if torch.cuda.is_available():
    pytest.skip("the patches are for machines without an accelerator", allow_module_level=True)

HERE = Path(__file__).parent


def probe(folder: Path, way: str) -> dict[str, dict[str, Any]]:
    """What `cpu_probe.py` found out in a process of its own."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("VERL_", "GENENV_"))}
    env |= {"PYTHONPATH": str(HERE.parents[1] / "py"), "RAY_USAGE_STATS_ENABLED": "0"}
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(HERE / "cpu_probe.py"), str(folder), way],
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return probe(tmp_path_factory.mktemp("plain"), "plain")


@pytest.fixture(scope="module")
def patched(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return probe(tmp_path_factory.mktemp("patched"), "patched")


def test_torch_still_refuses_gloo_for_the_cpu_twice(plain: dict[str, Any]) -> None:
    assert "Duplicate device type cpu" in plain["duplicate_backend"]["error"]


def test_a_group_forms_with_the_backends_that_verl_names(patched: dict[str, Any]) -> None:
    assert patched["duplicate_backend"] == {"result": "cpu:gloo,cpu:gloo sums to [1.0, 1.0]"}


def test_torch_still_pins_offloaded_parameters_with_an_accelerator(plain: dict[str, Any]) -> None:
    assert "accelerator" in plain["offload"]["error"]


def test_parameters_are_offloaded_without_pinned_memory(patched: dict[str, Any]) -> None:
    assert patched["offload"] == {"result": [6.0]}


def test_verl_still_hands_out_views_of_the_shared_segment(plain: dict[str, Any]) -> None:
    assert plain["shared_memory_view"]["error"].startswith("BufferError")


def test_received_weights_outlive_the_shared_segment(patched: dict[str, Any]) -> None:
    assert patched["shared_memory_view"] == {"result": [1.5, -2.0]}


def test_vllm_still_takes_the_weight_loaders_from_linear_layers(patched: dict[str, Any]) -> None:
    assert patched["vllm_keeps_weight_loaders"] == {"result": False}


def test_weights_of_all_buckets_are_reloaded_by_the_model_runner_at_once(
    patched: dict[str, Any],
) -> None:
    assert patched["weight_reload"] == {
        "result": [{"a": [100_000.0, 200_000], "b": [200_000.0, 200_000], "c": [3.0, 3]}]
    }


def test_the_extension_class_is_patched_after_its_import_and_only_on_a_cpu(
    plain: dict[str, Any], patched: dict[str, Any]
) -> None:
    assert patched["patched_class"] == {"result": "genenv.plugin.cpu_patches"}
    assert plain["patched_class"] == {"result": "verl.workers.rollout.vllm_rollout.utils"}


def test_lora_weights_are_refused_with_the_key_to_change(patched: dict[str, Any]) -> None:
    assert patched["lora"] == {
        "error": "NotImplementedError: a CPU rollout cannot take LoRA weights; "
        "set actor_rollout_ref.model.lora_rank=0"
    }


def test_the_cpu_answers_what_verl_asks_of_a_device(patched: dict[str, Any]) -> None:
    assert patched["device_module"] == {
        "result": {
            "name": "cpu",
            "id": "cpu",
            "backend": "gloo",
            "resource": "GPU",
            "ipc": False,
            "available": True,
            "count": 1,
            "memory": True,
            "allocated": 0,
            "total": True,
            "draws_again": True,
            "platform": "PlatformCPU",
        }
    }


def test_freed_memory_is_used_again_until_the_cache_is_emptied(patched: dict[str, Any]) -> None:
    assert patched["memory_kept"] == {"result": {"used_again": True, "given_back": True}}
