"""The jobs that find out, in seconds and before a role starts, what is wrong with a run."""

import math
import threading
from pathlib import Path
from typing import Any

from genenv import cluster, cluster_check, gpu_memory
from genenv.device import local_gpu_bytes, local_gpus, worker_environment
from genenv.errors import DataError
from genenv.host_memory import free_bytes, refuse_full_machine
from genenv.loop.events import Emit
from genenv.loop.python_reward import load_python_reward
from genenv.loop.settings import Settings, from_params
from genenv.loop.tasks import read_tasks
from genenv.model_shape import GIB, read_shape
from genenv.token_lengths import TokenCounter

_NAMED_ROWS = 5


def check(params: dict[str, Any], emit: Emit, stop: threading.Event) -> dict[str, Any]:
    """Compose veRL's configuration for each role and measure every prompt under its template.

    Returns:
        ``tokens``: the longest prompt of training and validation data, in tokens; ``memory``: what
        each role needs of a GPU, in words; empty where that is not known.

    Raises:
        ConfigError: a key veRL does not know, batch sizes it cannot divide, a model that no GPU
            or this machine's memory holds, more GPUs than there are.
        DataError: prompts longer than ``data.max_prompt_length``, named by file and row, or that
            the chat template refuses.
    """
    with TokenCounter(with_torch=_has_own_code(params)) as counter:
        settings = from_params(params)
        load_python_reward(settings.agent)
        memory = _check_memory(settings)
        _check_gpus(settings)
        return {"tokens": _longest_prompts(settings, counter), "memory": memory}


def _has_own_code(params: dict[str, Any]) -> bool:
    """Whether the agent's tokenizer may run code of its own."""
    model = params["verl"]["agent"]["actor_rollout_ref"]["model"]
    return bool(model.get("trust_remote_code"))


def _check_memory(settings: Settings) -> dict[str, str]:
    """Estimates by role, where models run on GPUs and a GPU's memory and the models are at hand."""
    shapes = {
        role: (shape, config)
        for role, config in settings.configs.items()
        if (shape := read_shape(str(config.actor_rollout_ref.model.path))) is not None
    }
    if settings.device != "cuda":
        if settings.genenv["ray_address"] is None and shapes:
            refuse_full_machine(shapes, free_bytes())
        return {}
    given = settings.genenv["gpu_memory_gib"]
    device_bytes = given * GIB if given else local_gpu_bytes()
    if device_bytes is None:
        return {}
    said = {}
    for role, (shape, config) in shapes.items():
        needed = gpu_memory.estimate(shape, config, device_bytes)
        gpu_memory.refuse_too_large(role, config, needed, device_bytes)
        said[role] = gpu_memory.describe(needed)
    return said


def _check_gpus(settings: Settings) -> None:
    """Whether this machine has the GPUs that the roles ask for; a cluster is looked at later."""
    if settings.device != "cuda" or settings.genenv["ray_address"] is not None:
        return
    found = local_gpus()
    here = [cluster_check.Free("this machine", found, found, math.inf)]
    needs = cluster_check.needs_of(settings.configs, share=settings.shares_devices)
    cluster_check.refuse_unplaceable(needs, lambda: here)


def check_cluster(params: dict[str, Any], emit: Emit, stop: threading.Event) -> None:
    """The ``check-cluster`` job: whether the cluster that is to be joined is fit, and has room.

    Raises:
        ConfigError: more GPUs than there are, nodes that lack something or don't reach the hooks.
        WorkerError: there is no such cluster, or it is taken.
    """
    settings = from_params(params)
    cluster.join(settings.genenv["ray_address"], worker_environment(settings.device, 1))
    try:
        cluster_check.check_cluster(
            settings.configs,
            settings.run_dir,
            share=settings.shares_devices,
            hooks=settings.remote_hooks,
            hooks_on_nodes=settings.genenv["hooks"]["placement"] == "node",
        )
    finally:
        cluster.leave()


def as_files(value: Any) -> list[str]:
    """veRL allows one file, a list of files, or none."""
    if value is None:
        return []
    return [str(Path(file)) for file in ([value] if isinstance(value, str) else value)]


def _longest_prompts(settings: Settings, counter: TokenCounter) -> dict[str, int]:
    """Tokens of the longest prompt of each kind of data, 0 where there is none."""
    model, data = settings.agent.actor_rollout_ref.model, settings.agent.data
    longest = {}
    for name, files in (("train", data.train_files), ("validation", data.val_files)):
        lengths = counter.lengths(
            model.tokenizer_path or model.path,
            [task.messages for task in read_tasks(as_files(files), name)],
            trust_remote_code=bool(model.trust_remote_code),
            template=dict(data.get("apply_chat_template_kwargs") or {}),
        )
        _refuse_long_prompts(name, lengths, int(data.max_prompt_length))
        longest[name] = max(lengths, default=0)
    return longest


def _refuse_long_prompts(name: str, lengths: list[int], limit: int) -> None:
    long = [(row, length) for row, length in enumerate(lengths) if length > limit]
    if not long:
        return
    rows = ", ".join(f"row {row} ({length} tokens)" for row, length in long[:_NAMED_ROWS])
    more = f" and {len(long) - _NAMED_ROWS} more" if len(long) > _NAMED_ROWS else ""
    raise DataError(
        f"{len(long)} prompts of the {name} data are longer than data.max_prompt_length "
        f"({limit} tokens): {rows}{more}",
        code="prompt-too-long",
        hint=f"shorten them, or set data.max_prompt_length={max(length for _, length in long)}",
    )
