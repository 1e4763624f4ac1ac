"""Tries what the CPU patches are for: ``python cpu_probe.py FOLDER patched|plain``.

Both ways veRL runs on genenv's CPU platform, as in a worker process; ``plain`` leaves the patches
out. Prints one JSON object: for each attempt what came of it, or the error's text.
"""

import asyncio
import json
import os
import resource
import sys
import threading
from collections.abc import Callable, Iterator
from multiprocessing import shared_memory
from pathlib import Path
from typing import Any

FOLDER, WAY = Path(sys.argv[1]), sys.argv[2]
os.environ["VERL_PLATFORM"] = "cpu"
if WAY == "patched":
    os.environ["VERL_USE_EXTERNAL_MODULES"] = "genenv.plugin"
else:
    # The platform alone: the package applies its patches when it is imported for a CPU.
    del os.environ["VERL_PLATFORM"]
    import genenv.plugin

    os.environ["VERL_PLATFORM"] = "cpu"
    import genenv.plugin.cpu_platform  # noqa: F401

import psutil  # noqa: E402
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import verl  # noqa: E402, F401

TRANSFER = "verl.workers.rollout.vllm_rollout.bucketed_weight_transfer"


def duplicate_backend() -> str:
    """A group with the backends as veRL names them: one for the device, one for the CPU."""
    from verl.utils.device import get_device_name, get_nccl_backend

    backend = f"cpu:gloo,{get_device_name()}:{get_nccl_backend()}"
    dist.init_process_group(backend, init_method=f"file://{FOLDER}/a", rank=0, world_size=1)
    total = torch.ones(2)
    dist.all_reduce(total)
    return f"{backend} sums to {total.tolist()}"


def offload() -> list[float]:
    """A step of an FSDP module whose parameters are offloaded the way veRL asks for it."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from verl.utils.fsdp_utils import CPUOffloadPolicy

    if not dist.is_initialized():
        dist.init_process_group("cpu:gloo", init_method=f"file://{FOLDER}/b", rank=0, world_size=1)
    layer = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.constant_(layer.weight, 3.0)
    mesh = init_device_mesh("cpu", (1,))
    fully_shard(layer, mesh=mesh, offload_policy=CPUOffloadPolicy(pin_memory=True))
    return layer(torch.tensor([[2.0]])).flatten().tolist()


def shared_memory_view() -> list[float]:
    """A weight out of a shared segment, after the segment was closed."""
    from verl.workers.rollout.vllm_rollout import bucketed_weight_transfer as transfer

    owner = shared_memory.SharedMemory(create=True, size=64)
    try:
        owner.buf[:8] = torch.tensor([1.5, -2.0]).numpy().tobytes()
        buffer, segment = transfer.rebuild_shared_memory(owner.name, 64, dtype=torch.uint8)
        weight = buffer[0:8].view(dtype=torch.float32).view(torch.Size([2])).to("cpu")
        del buffer
        try:
            segment.close()
        except BufferError:
            del weight
            segment.close()
            raise
        owner.buf[:8] = bytes(8)
        return weight.tolist()
    finally:
        owner.close()
        owner.unlink()


class StandInWorker:
    """What the replaced method needs of a vLLM worker."""

    def __init__(self) -> None:
        self.model_runner = self
        self.reloads: list[dict[str, list[float]]] = []

    def _get_zmq_handle(self) -> str:
        return f"ipc://{FOLDER}/weights.sock"

    def reload_weights(self, weights_iterator: Iterator[tuple[str, torch.Tensor]]) -> None:
        self.reloads.append({n: [float(t.sum()), t.numel()] for n, t in weights_iterator})


def weight_reload() -> list[dict[str, list[float]]]:
    """Weights of three buckets through veRL's own sender into one reload of the model runner."""
    from verl.workers.rollout.vllm_rollout.bucketed_weight_transfer import BucketedWeightSender
    from verl.workers.rollout.vllm_rollout.utils import vLLMColocateWorkerExtension

    worker = StandInWorker()
    sender = BucketedWeightSender(worker._get_zmq_handle(), bucket_size_mb=1, use_shm=True)
    # A megabyte holds 262,144 of float32: each of the larger two needs a bucket of its own.
    weights = [("a", torch.full((200_000,), 0.5)), ("b", torch.ones(200_000)), ("c", torch.ones(3))]
    sending = threading.Thread(target=lambda: asyncio.run(sender.async_send_weights(iter(weights))))
    sending.daemon = True
    sending.start()
    vLLMColocateWorkerExtension.update_weights_from_ipc(worker, use_shm=True)
    sending.join(20)
    return worker.reloads


def lora() -> None:
    from verl.workers.rollout.vllm_rollout.utils import vLLMColocateWorkerExtension

    vLLMColocateWorkerExtension.update_weights_from_ipc(StandInWorker(), peft_config={"r": 8})


def vllm_keeps_weight_loaders() -> bool:
    """Whether a linear layer can still load a weight after vLLM made it ready for the CPU."""
    from vllm.model_executor.layers.utils import dispatch_cpu_unquantized_gemm

    layer = torch.nn.Module()
    layer.weight = torch.nn.Parameter(torch.ones(64, 64), requires_grad=False)
    layer.weight.weight_loader = lambda *_: None
    dispatch_cpu_unquantized_gemm(layer, remove_weight=True)
    return hasattr(layer.weight, "weight_loader")


def patched_class() -> str:
    from verl.workers.rollout.vllm_rollout.utils import vLLMColocateWorkerExtension

    return vLLMColocateWorkerExtension.update_weights_from_ipc.__module__


def device_module() -> dict[str, Any]:
    """veRL's device calls, as its workers make them."""
    from verl.plugin.platform import get_platform
    from verl.utils import device

    module = device.get_torch_device()
    free, total = module.mem_get_info()
    with module.stream(module.current_stream()):
        module.synchronize()
    module.empty_cache()
    module.ipc_collect()
    module.set_device(0)
    module.manual_seed(3)
    state = module.get_rng_state()
    first = torch.rand(1)
    module.set_rng_state(state)
    return {
        "name": device.get_device_name(),
        "id": str(device.get_device_id()),
        "backend": device.get_nccl_backend(),
        "resource": device.get_resource_name(),
        "ipc": device.is_support_ipc(),
        "available": module.is_available() and device.is_device_available(),
        "count": module.device_count(),
        "memory": 0 < free <= total,
        "allocated": module.memory_allocated() + module.max_memory_reserved(),
        "total": module.get_device_properties(0).total_memory == total,
        "draws_again": bool(torch.rand(1) == first),
        "platform": type(get_platform()).__name__,
    }


def memory_kept() -> dict[str, bool]:
    """Whether a large tensor's memory serves the next one, and goes when the cache is emptied."""
    from verl.utils import device

    module = device.get_torch_device()

    def pages_of_a_tensor() -> int:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        torch.ones(16_000_000)
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    # Small things that come to lie behind a freed tensor can cost its place once or twice.
    again = min(pages_of_a_tensor() for _ in range(20))
    kept = psutil.Process().memory_info().rss
    module.empty_cache()
    given_back = kept - psutil.Process().memory_info().rss
    # 64 MB are 15,625 pages of 4 KiB.
    return {"used_again": again < 1_000, "given_back": given_back > 32_000_000}


def attempt(work: Callable[[], Any]) -> dict[str, Any]:
    try:
        return {"result": work()}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


ATTEMPTS: dict[str, tuple[Callable[[], Any], ...]] = {
    "plain": (duplicate_backend, offload, shared_memory_view, patched_class),
    "patched": (
        duplicate_backend,
        offload,
        shared_memory_view,
        patched_class,
        weight_reload,
        lora,
        vllm_keeps_weight_loaders,
        device_module,
        memory_kept,
    ),
}

if __name__ == "__main__":
    print(json.dumps({work.__name__: attempt(work) for work in ATTEMPTS[WAY]}), flush=True)
    # What a refused attempt left half made (gloo's threads, a segment) is not worth a clean exit.
    os._exit(0)
