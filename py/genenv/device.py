"""What a device needs of veRL, vLLM and Ray, so that the user's YAML need not say it.

``CPU_OVERLAY`` lies between veRL's own defaults and the user's configuration: a user's key wins.
Figures and reasons: docs/architecture.md.
"""

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Literal

Device = Literal["cpu", "cuda"]

_BF16_FLAGS = ("avx512_bf16", "amx_bf16")


def cpu_has_bf16() -> bool:
    """Whether the processor computes in bf16; emulated, it is many times slower than fp32."""
    flags = Path("/proc/cpuinfo").read_text().split("flags", 1)[-1].split("\n", 1)[0].split()
    return any(flag in flags for flag in _BF16_FLAGS)


def cpu_overlay() -> dict[str, Any]:
    """The keys a CPU run needs: ``CPU_OVERLAY`` with the precision this processor is good at."""
    dtype = "bfloat16" if cpu_has_bf16() else "float32"
    root = CPU_OVERLAY["actor_rollout_ref"]
    precision = {"param_dtype": dtype, "reduce_dtype": "float32", "buffer_dtype": "float32"}
    models = {
        role: root.get(role, {}) | {"fsdp_config": {"dtype": dtype, "mixed_precision": precision}}
        for role in ("actor", "ref")
    }
    tree = root | models | {"rollout": root["rollout"] | {"dtype": dtype}}
    return CPU_OVERLAY | {"actor_rollout_ref": tree}


CPU_OVERLAY: dict[str, Any] = {
    "actor_rollout_ref": {
        "model": {
            # Sequence packing and the fused kernels behind it need flash-attention.
            "use_remove_padding": False,
            "enable_gradient_checkpointing": False,
            "override_config": {"attn_implementation": "sdpa"},
        },
        "actor": {
            "strategy": "fsdp2",
            "use_torch_compile": False,
        },
        "rollout": {
            "name": "vllm",
            "tensor_model_parallel_size": 1,
            "enforce_eager": True,
            # Sleeping frees accelerator memory; on a CPU there is nothing to free.
            "free_cache_engine": False,
            "enable_sleep_mode": False,
            "load_format": "auto",
            "agent": {"num_workers": 1},
        },
    },
    "data": {"dataloader_num_workers": 0},
    "trainer": {"device": "cpu", "n_gpus_per_node": 1, "nnodes": 1},
    # Each storage unit is one more process.
    "transfer_queue": {"backend": {"SimpleStorage": {"num_data_storage_units": 1}}},
}

SINGLE_PROCESS_ROLLOUT: dict[str, Any] = {
    "actor_rollout_ref": {
        "rollout": {"engine_kwargs": {"vllm": {"distributed_executor_backend": "uni"}}}
    }
}

# A role that waits for its turn keeps nothing on the devices: its rollout engine sleeps (level 2,
# which drops the weights), its trainer's parameters and optimiser are in main memory.
SHARED_OVERLAY: dict[str, Any] = {
    "actor_rollout_ref": {
        "actor": {"fsdp_config": {"param_offload": True, "optimizer_offload": True}},
        "ref": {"fsdp_config": {"param_offload": True}},
        "rollout": {"free_cache_engine": True},
    }
}
# What packs sequences comes with flash-attention, which is no part of the lock: it is compiled.
_WITHOUT_FLASH_ATTENTION: dict[str, Any] = {
    "actor_rollout_ref": {
        "model": {
            "use_remove_padding": False,
            "override_config": {"attn_implementation": "sdpa"},
        }
    }
}


def cuda_overlay(*, share: bool) -> dict[str, Any]:
    """The keys a GPU run needs, below the user's."""
    tree: dict[str, Any] = {"actor_rollout_ref": {}}
    if importlib.util.find_spec("flash_attn") is None:
        tree["actor_rollout_ref"] |= _WITHOUT_FLASH_ATTENTION["actor_rollout_ref"]
    if share:
        tree["actor_rollout_ref"] |= SHARED_OVERLAY["actor_rollout_ref"]
    return tree


QUIET: dict[str, str] = {
    # Telemetry is off unless the user's own environment turns it on.
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "WANDB_MODE": "offline",
    "TOKENIZERS_PARALLELISM": "true",
}


def resolve_device(requested: str) -> Device:
    """``auto`` is ``cuda`` where a GPU is visible, else ``cpu``; without importing torch."""
    if requested in ("cpu", "cuda"):
        return requested  # type: ignore[return-value]
    return "cuda" if os.path.exists("/dev/nvidiactl") else "cpu"  # noqa: PTH110


def local_gpus() -> int:
    """GPUs that this process may use: the driver's, less what CUDA_VISIBLE_DEVICES hides."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return len([name for name in visible.split(",") if name.strip() not in ("", "-1")])
    folder = Path("/proc/driver/nvidia/gpus")
    if folder.is_dir():
        return len(list(folder.iterdir()))
    # Containers may show the devices and not the driver's list.
    return len([p for p in Path("/dev").glob("nvidia[0-9]*") if p.name[6:].isdigit()])


def local_gpu_bytes() -> float | None:
    """Memory of the smallest GPU here, as nvidia-smi says it; None without one."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    query = [program, "--query-gpu=memory.total", "--format=csv,noheader,nounits"]
    result = subprocess.run(query, capture_output=True, text=True, check=False)
    sizes = [float(line) for line in result.stdout.split() if line.strip().isdigit()]
    return min(sizes) * 1024.0**2 if sizes else None


def _cache_folder() -> Path:
    """genenv's folder in the user's cache, the one the TypeScript side uses too."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "genenv"


def worker_environment(device: Device, threads: int) -> dict[str, str]:
    """Environment variables for every veRL and vLLM process; must be set before those are imported.

    Args:
        device: where models run.
        threads: OpenMP threads of each process (roles take turns, so each may use all cores).
    """
    env = {name: os.environ.get(name, value) for name, value in QUIET.items()}
    env["TRANSFER_QUEUE_ENABLE"] = "1"
    # By default in the temporary folder, which is the run's own and gone after it: every run would
    # compile the same again.
    compiled = _cache_folder() / "inductor"
    env["TORCHINDUCTOR_CACHE_DIR"] = os.environ.get("TORCHINDUCTOR_CACHE_DIR", str(compiled))
    env["VERL_USE_EXTERNAL_MODULES"] = "genenv.plugin"
    if device == "cpu":
        env |= {
            "VERL_PLATFORM": "cpu",
            "VLLM_CPU_OMP_THREADS_BIND": "nobind",
            # The engine lives in the server actor: no process of its own, one import less.
            "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
            "OMP_NUM_THREADS": str(threads),
            # Waiting threads sleep instead of spinning: the roles' processes share the cores.
            "OMP_WAIT_POLICY": "PASSIVE",
            "KMP_BLOCKTIME": "1",
            "TQ_NUM_THREADS": "2",
            # PyTorch asks for huge pages: a large tensor's memory is new to the process each time,
            # and to get it page by page takes longer than to fill it.
            "THP_MEM_ALLOC_ENABLE": os.environ.get("THP_MEM_ALLOC_ENABLE", "1"),
        }
    return env
