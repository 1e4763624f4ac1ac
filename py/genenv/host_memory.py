"""What a run on CPUs needs of the machine's memory, so that a second one is refused in time.

The estimate errs towards too little: it refuses what cannot fit, for instance beside another run.
"""

from pathlib import Path
from typing import Any

import psutil

from genenv.errors import ConfigError
from genenv.model_shape import GIB, Shape, activation_bytes

# Ray, veRL and vLLM themselves, in all processes of both roles, shared pages counted once: the run
# of a model of 1 M parameters (bench:memory).
_WITHOUT_MODELS = 2.5 * GIB
# Trainer: weights, gradients, Adam's two moments. Rollout: the weights again.
_COPIES = 5
_LOGIT_COPIES = 2

_CGROUP = Path("/sys/fs/cgroup")


def free_bytes(cgroup: Path = _CGROUP) -> float:
    """Memory that a new process may take: the machine's, or what is left of its container's."""
    free = float(psutil.virtual_memory().available)
    try:
        limit = (cgroup / "memory.max").read_text().strip()
        used = (cgroup / "memory.current").read_text()
    except FileNotFoundError:
        return free
    return free if limit == "max" else min(free, float(limit) - float(used))


def role_bytes(shape: Shape, config: Any) -> tuple[float, float]:
    """What a role holds always, and what its update takes on top, in bytes.

    Args:
        shape: of its model.
        config: its complete veRL configuration.
    """
    root = config.actor_rollout_ref
    number = 2 if root.actor.fsdp_config.dtype == "bfloat16" else 4
    copies = _COPIES + (1 if root.actor.use_kl_loss else 0)
    update = activation_bytes(shape, config, number=number, logit_copies=_LOGIT_COPIES)
    return copies * number * shape.parameters, update


def refuse_full_machine(roles: dict[str, tuple[Shape, Any]], free: float) -> None:
    """Raise where the roles together need more than is free.

    Args:
        roles: model and complete veRL configuration by role.
        free: bytes.

    Raises:
        ConfigError: what is needed, what there is, and what to do.
    """
    sizes = [role_bytes(shape, config) for shape, config in roles.values()]
    # The roles' updates take turns.
    needed = _WITHOUT_MODELS + sum(held for held, _ in sizes) + max(update for _, update in sizes)
    if needed <= free:
        return
    raise ConfigError(
        f"this run needs about {needed / GIB:.0f} GiB of memory, and {free / GIB:.1f} GiB are free",
        code="host-memory",
        hint="wait for what else runs here (npx genenv ls names runs), or take a smaller model, "
        "actor_rollout_ref.actor.ppo_max_token_len_per_gpu or shorter data",
    )
