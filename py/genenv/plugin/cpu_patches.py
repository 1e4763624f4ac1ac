"""The places where veRL 0.9.1 or PyTorch assume an accelerator, bent at run time for the CPU.

Nothing on disk is changed. Each patch says why it is there; test/py/test_cpu_patches.py fails when
veRL no longer needs one.
"""

import importlib.abc
import importlib.util
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

_TRANSFER = "verl.workers.rollout.vllm_rollout.bucketed_weight_transfer"
_ENGINE = "verl.workers.engine.fsdp.transformer_impl"
_ROLLOUT_UTILS = "verl.workers.rollout.vllm_rollout.utils"


def apply() -> None:
    """Install all CPU patches; those for modules not yet imported run right after their import."""
    _collapse_duplicate_backend()
    _offload_without_pinned_memory()
    _after_import(_ENGINE, _register_engine)
    _after_import(_TRANSFER, _copy_weights_out_of_shared_memory)
    _after_import(_ROLLOUT_UTILS, _reload_weights_through_the_model_runner)


def _collapse_duplicate_backend() -> None:
    """torch refuses ``cpu:gloo,cpu:gloo`` (device backend plus CPU backend) as a duplicate."""
    import torch.distributed as dist

    original = dist.init_process_group

    def init_process_group(backend: str | None = None, *args: Any, **kwargs: Any) -> Any:
        if backend == "cpu:gloo,cpu:gloo":
            backend = "cpu:gloo"
        return original(backend, *args, **kwargs)

    dist.init_process_group = init_process_group


def _offload_without_pinned_memory() -> None:
    """Pinned memory needs an accelerator, and veRL builds the policy with the default, True."""
    import torch.distributed.fsdp as fsdp

    class UnpinnedOffloadPolicy(fsdp.CPUOffloadPolicy):
        def __init__(self, pin_memory: bool = True) -> None:
            super().__init__(pin_memory=False)

    fsdp.CPUOffloadPolicy = UnpinnedOffloadPolicy


def _register_engine(_module: ModuleType) -> None:
    """veRL registers its FSDP engine for cuda and npu only; ours builds on it."""
    import genenv.plugin.cpu_engine  # noqa: F401


def _copy_weights_out_of_shared_memory(module: ModuleType) -> None:
    """On a CPU a received tensor would be a view of the segment, which then cannot be closed."""
    from multiprocessing import shared_memory

    class CopyingBuffer:
        """Slices of a segment as tensors that own their memory."""

        def __init__(self, segment: shared_memory.SharedMemory) -> None:
            self._segment = segment

        def __getitem__(self, part: slice) -> torch.Tensor:
            return torch.frombuffer(self._segment.buf[part], dtype=torch.uint8).clone()

    def rebuild_shared_memory(name: str, size: int, dtype: Any = torch.uint8) -> tuple[Any, Any]:
        segment = shared_memory.SharedMemory(name=name)
        return CopyingBuffer(segment), segment

    module.rebuild_shared_memory = rebuild_shared_memory


def _reload_weights_through_the_model_runner(module: ModuleType) -> None:
    """vLLM re-packs CPU linear layers after loading, so ``load_weights`` finds no weight loader."""

    def update_weights_from_ipc(
        self: Any, peft_config: Any = None, base_sync_done: bool = False, use_shm: bool = False
    ) -> None:
        from verl.utils.device import get_torch_device
        from verl.workers.rollout.vllm_rollout.bucketed_weight_transfer import (
            BucketedWeightReceiver,
        )

        if peft_config is not None:
            raise NotImplementedError(
                "a CPU rollout cannot take LoRA weights; set actor_rollout_ref.model.lora_rank=0"
            )
        receiver = BucketedWeightReceiver(
            zmq_handle=self._get_zmq_handle(), device=torch.device("cpu"), use_shm=True
        )
        weights: list[tuple[str, torch.Tensor]] = []
        receiver.receive_weights(on_bucket_received=lambda bucket, _last: weights.extend(bucket))
        self.model_runner.reload_weights(weights_iterator=iter(weights))
        # Received and re-packed copies: nothing else gives them back to the system.
        weights.clear()
        get_torch_device().empty_cache()

    module.vLLMColocateWorkerExtension.update_weights_from_ipc = update_weights_from_ipc


def _after_import(name: str, patch: Callable[[ModuleType], None]) -> None:
    """Run ``patch(module)`` once ``name`` is imported, or now if it already is."""
    if name in sys.modules:
        patch(sys.modules[name])
    else:
        sys.meta_path.insert(0, _PatchingFinder(name, patch))


class _PatchingFinder(importlib.abc.MetaPathFinder):
    """Find one module through the other finders, and patch it after it ran."""

    def __init__(self, name: str, patch: Callable[[ModuleType], None]) -> None:
        self._name = name
        self._patch = patch

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run(module)
            self._patch(module)

        spec.loader.exec_module = exec_module
        return spec
