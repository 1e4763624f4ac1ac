"""A CPU platform for veRL 0.9.1 (extension point: ``verl.plugin.platform.PlatformRegistry``).

veRL drives its device through ``device_module``, the shape of ``torch.cuda``. ``torch.cpu`` has
only part of that shape; what is missing has an obvious meaning on a CPU (one device, memory that is
the system's own).
"""

import contextlib
import ctypes
import types
from collections.abc import Iterator
from typing import Any

import psutil
import torch
from verl.plugin.platform import PlatformBase, PlatformRegistry


def _nothing(*_args: Any, **_kwargs: Any) -> None:
    """Stand for a device call that has no effect on a CPU."""


_libc = ctypes.CDLL(None)
_malloc_trim = getattr(_libc, "malloc_trim", None)
# glibc's names for what mallopt sets (malloc.h).
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


def _keep_freed_memory() -> None:
    """Let a process use its freed memory again, until ``_give_memory_back``.

    By default glibc takes large tensors from the system and hands them back one by one; to get
    their pages anew each time is a fifth of an update's seconds. Other C libraries do as they do.
    """
    if _malloc_trim is not None:
        _libc.mallopt(_M_MMAP_THRESHOLD, 1 << 30)
        _libc.mallopt(_M_TRIM_THRESHOLD, (1 << 31) - 1)


def _give_memory_back() -> None:
    """Hand freed memory to the system; glibc would keep it for this process.

    veRL calls this after each update, when the other role's turn comes.
    """
    if _malloc_trim is not None:
        _malloc_trim(0)


def _zero(*_args: Any, **_kwargs: Any) -> int:
    return 0


def _mem_get_info(*_args: Any, **_kwargs: Any) -> tuple[int, int]:
    """Free and total memory in bytes, as ``torch.cuda.mem_get_info`` gives them."""
    memory = psutil.virtual_memory()
    return memory.available, memory.total


def _device_properties(*_args: Any, **_kwargs: Any) -> types.SimpleNamespace:
    total = psutil.virtual_memory().total
    return types.SimpleNamespace(total_memory=total, name="cpu", multi_processor_count=1)


def _build_device_module() -> types.ModuleType:
    module = types.ModuleType("genenv_cpu_device")
    for name in dir(torch.cpu):
        if not name.startswith("__"):
            setattr(module, name, getattr(torch.cpu, name))
    for name in ("ipc_collect", "reset_peak_memory_stats", "init", "set_device"):
        setattr(module, name, _nothing)
    for name in (
        "memory_allocated",
        "memory_reserved",
        "max_memory_allocated",
        "max_memory_reserved",
        "current_device",
    ):
        setattr(module, name, _zero)
    module.empty_cache = _give_memory_back
    module._set_allocator_settings = _nothing
    module.mem_get_info = _mem_get_info
    module.get_device_name = lambda *_a, **_k: "cpu"
    module.get_device_properties = _device_properties
    module.get_device_capability = lambda *_a, **_k: (None, None)
    module.get_rng_state = lambda *_a, **_k: torch.get_rng_state()
    module.set_rng_state = lambda state, *_a, **_k: torch.set_rng_state(state)
    module.manual_seed = torch.manual_seed
    module.manual_seed_all = torch.manual_seed
    module.device_count = lambda: 1
    module.is_available = lambda: True
    module.memory = module
    return module


@PlatformRegistry.register(platform="cpu")
class PlatformCPU(PlatformBase):
    """One CPU, seen by veRL as one device with gloo and without inter-process memory handles."""

    _module = _build_device_module()

    def __init__(self) -> None:
        super().__init__()
        _keep_freed_memory()

    @property
    def device_name(self) -> str:
        return "cpu"

    @property
    def vendor_name(self) -> str:
        return "cpu"

    @property
    def device_module(self) -> types.ModuleType:
        return self._module

    def is_available(self) -> bool:
        return True

    def is_platform_available(self, use_smi_check: bool = False) -> bool:
        return not torch.cuda.is_available()

    def current_device(self) -> Any:
        # An index would make `.to(device=0)` look for an accelerator.
        return torch.device("cpu")

    def device_count(self) -> int:
        return 1

    def set_device(self, device_index: int) -> None:
        """Nothing to choose."""

    def synchronize(self, device_index: int | None = None) -> None:
        """CPU work is done when the call returns."""

    def manual_seed(self, seed: int) -> None:
        torch.manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        torch.manual_seed(seed)

    def set_allocator_settings(self, settings: str) -> None:
        """The CPU allocator has no such settings."""

    def empty_cache(self) -> None:
        """Hand freed memory to the system."""
        _give_memory_back()

    def get_device_capability(self, device_index: int = 0) -> tuple[int | None, int | None]:
        return (None, None)

    def communication_backend_name(self) -> str:
        return "gloo"

    def visible_devices_envvar(self) -> str:
        return "CUDA_VISIBLE_DEVICES"

    @contextlib.contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:
        yield

    def profiler_start(self) -> None:
        """No device profiler on a CPU."""

    def profiler_stop(self) -> None:
        """No device profiler on a CPU."""

    def ray_resource_name(self) -> str:
        # veRL's resource check reads "GPU" or "NPU" only; the local cluster offers "GPU" slots.
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        return []

    def is_ipc_supported(self) -> bool:
        return False

    def cudart(self) -> Any:
        return None
