"""veRL's Hydra configuration for each role: its defaults, then the device's, the user's, ours."""

import copy
import difflib
import functools
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from genenv.device import SINGLE_PROCESS_ROLLOUT, Device, cpu_overlay, cuda_overlay
from genenv.errors import ConfigError
from genenv.model_shape import read_shape

Role = str  # "agent" | "environment"

# Sub-trees that veRL passes on to other libraries: any key is allowed below them.
_FREE_FORM = (
    "actor_rollout_ref.model.override_config",
    "actor_rollout_ref.rollout.engine_kwargs",
    "actor_rollout_ref.actor.fsdp_config.wrap_policy",
    "ray_kwargs",
    "data.apply_chat_template_kwargs",
)
# Under this name genenv.plugin.algorithms registers its estimator and its loss.
RWR = "genenv_rwr"
_MICRO_BATCH = "micro_batch_size"
# Logits of a 49k vocabulary take 0.2 GB a thousand tokens; a training step holds several copies.
_CPU_MICRO_BATCH_TOKENS = 1024
# vLLM's on a CPU: a sequence takes whole blocks.
_CPU_KV_BLOCK_TOKENS = 128
_CPU_KV_CACHE_MOST = 4 * 2**30
# Of a model whose sizes are not at hand.
_CPU_KV_CACHE_UNKNOWN = 2**30
_RWR_WEIGHT_CAP = 4.0
# Enough for any rate: the hook host scores, and a worker only hands trajectories on in batches.
_REWARD_WORKERS = 1
REWARD_MANAGER = {
    "source": "importlib",
    "name": "HookRewardManager",
    "module": {"path": "pkg://genenv.plugin.reward_manager"},
}


def verl_defaults() -> DictConfig:
    """veRL's ``ppo_trainer`` configuration, composed by Hydra from the installed package."""
    return copy.deepcopy(_composed())


@functools.cache
def _composed() -> DictConfig:
    """Composed once: it takes a second, and each role starts from it."""
    from hydra import compose, initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra

    GlobalHydra.instance().clear()
    with initialize_config_dir(config_dir=str(_config_folder()), version_base=None):
        return compose("ppo_trainer")


def _config_folder() -> Path:
    """Found without importing veRL, whose import costs seconds."""
    import importlib.util

    spec = importlib.util.find_spec("verl")
    if spec is None or spec.origin is None:
        raise ConfigError(
            "veRL is not installed in this Python environment",
            code="no-verl",
            hint="run: npx genenv setup",
        )
    return Path(spec.origin).parent / "trainer" / "config"


def role_config(
    role: Role,
    overlay: dict[str, Any],
    *,
    device: Device,
    genenv: dict[str, Any],
    added: list[str],
    deleted: list[str],
) -> DictConfig:
    """The complete veRL configuration of a role.

    Args:
        role: ``agent`` or ``environment``.
        overlay: the user's veRL keys as a tree, already merged for this role.
        device: adds what the device needs below the user's keys.
        genenv: the resolved ``genenv`` section.
        added: dotted paths the user gave with Hydra's ``+`` (they may be new to veRL).
        deleted: dotted paths the user removed with ``~``.

    Raises:
        ConfigError: a key that veRL does not know, with the nearest known one.
    """
    config = verl_defaults()
    refuse_unknown_keys(config, overlay, added)
    OmegaConf.set_struct(config, False)
    if device == "cpu":
        config.merge_with(cpu_overlay(), SINGLE_PROCESS_ROLLOUT)
    else:
        config.merge_with(cuda_overlay(share=genenv["share_gpus"]))
    config.merge_with(overlay)
    for path in deleted:
        _delete(config, path)
    config.merge_with(_role_overlay(role, genenv))
    if role == "environment" and genenv["env_update"] == "none":
        config.actor_rollout_ref.actor.use_kl_loss = False
    if device == "cpu":
        _refuse_lora(role, config)
        _fit_micro_batches(config, overlay)
        _fit_kv_cache(config)
    config.transfer_queue.enable = True
    OmegaConf.resolve(config)
    return config


def _role_overlay(role: Role, genenv: dict[str, Any]) -> dict[str, Any]:
    """What the loop itself decides: how a role's trainer is driven, and by which objective."""
    tree: dict[str, Any] = {
        "trainer": {
            "v1": {"trainer_mode": "genenv_role", "genenv_role": {}},
            "resume_mode": "disable",
        },
        "reward": {"num_workers": 0},
        "actor_rollout_ref": {
            "rollout": {
                "calculate_log_probs": True,
                "checkpoint_engine": {"custom_backend_module": "genenv.plugin.algorithms"},
            },
            "actor": {
                "checkpoint": {"save_contents": ["model", "optimizer", "extra", "hf_model"]},
            },
        },
    }
    tree["algorithm"] = {
        "genenv_lambda": float(genenv["lambda"]),
        "genenv_weight_cap": _RWR_WEIGHT_CAP,
    }
    if role == "agent" and genenv["hooks"]["scoring"] == "overlap":
        tree["reward"] = {"num_workers": _REWARD_WORKERS, "reward_manager": REWARD_MANAGER}
    if role == "environment" and genenv["env_update"] == "rwr":
        tree["algorithm"]["adv_estimator"] = RWR
        tree["actor_rollout_ref"]["actor"]["policy_loss"] = {"loss_mode": RWR}
    return tree


def _refuse_lora(role: Role, config: DictConfig) -> None:
    """Adapters would be trained, and never reach a CPU rollout: see ``cpu_patches``."""
    rank = config.actor_rollout_ref.model.lora_rank
    if rank > 0:
        prefix = "" if role == "agent" else "genenv.env."
        raise ConfigError(
            f"`{prefix}actor_rollout_ref.model.lora_rank` is {rank}: a CPU rollout cannot take "
            "LoRA weights",
            code="refused-key",
            hint="set it to 0, or run on a GPU (genenv.device=cuda)",
        )


def _fit_micro_batches(config: DictConfig, overlay: dict[str, Any]) -> None:
    """Micro-batches by tokens rather than rows, unless the user sizes them.

    Rows come and go with abstentions, and a number of rows need not divide.
    """
    sections = overlay.get("actor_rollout_ref", {})
    if any(_MICRO_BATCH in key for part in sections.values() if part for key in part):
        return
    actor = config.actor_rollout_ref.actor
    actor.use_dynamic_bsz = True
    longest = config.data.max_prompt_length + config.data.max_response_length
    actor.ppo_max_token_len_per_gpu = max(_CPU_MICRO_BATCH_TOKENS, longest)


def _fit_kv_cache(config: DictConfig) -> None:
    """A KV cache for the batch's sequences at once, unless the user sizes it.

    vLLM goes round all of it, so that a larger one is memory for nothing, but it starts only where
    the longest sequence that the model knows has room.
    """
    rollout = config.actor_rollout_ref.rollout
    engine = rollout.engine_kwargs.vllm
    if engine.get("kv_cache_memory_bytes") is not None:
        return
    shape = read_shape(str(config.actor_rollout_ref.model.path))
    if shape is None:
        engine.kv_cache_memory_bytes = _CPU_KV_CACHE_UNKNOWN
        return
    longest = config.data.max_prompt_length + config.data.max_response_length
    sequences = min(config.data.train_batch_size * rollout.n, rollout.max_num_seqs)
    token = int(shape.kv_bytes(2 if rollout.dtype == "bfloat16" else 4))
    batch = min(sequences * _in_blocks(longest) * token, _CPU_KV_CACHE_MOST)
    least = _in_blocks(rollout.max_model_len or max(shape.longest, longest)) * token
    # vLLM keeps one block for itself.
    engine.kv_cache_memory_bytes = max(batch, least) + _CPU_KV_BLOCK_TOKENS * token


def _in_blocks(tokens: int) -> int:
    return -(-tokens // _CPU_KV_BLOCK_TOKENS) * _CPU_KV_BLOCK_TOKENS


def _largest_divisor(number: int, limit: int) -> int:
    return max(d for d in range(1, min(number, limit) + 1) if number % d == 0)


def refuse_unknown_keys(config: DictConfig, overlay: dict[str, Any], added: list[str]) -> None:
    """Raise for the first key of ``overlay`` that veRL lacks and that was not added with ``+``."""
    known = set(_paths(OmegaConf.to_container(config, resolve=False)))
    # An added key brings the sections it lies in.
    new = {*added, *(parent for path in added for parent in _parents(path))}
    for path in _paths(overlay):
        if path in known or path in new or any(path.startswith(f"{a}.") for a in added):
            continue
        if any(path == free or path.startswith(f"{free}.") for free in _FREE_FORM):
            continue
        if any(parent in known and _is_empty(config, parent) for parent in _parents(path)):
            continue
        near = difflib.get_close_matches(path, known, n=1, cutoff=0.0)
        raise ConfigError(
            f"veRL has no key `{path}`",
            code="unknown-key",
            hint=f"did you mean `{near[0]}`? To add a new key write `+{path}=...`",
        )


def _is_empty(config: DictConfig, path: str) -> bool:
    value = OmegaConf.select(config, path)
    return value is None or (isinstance(value, DictConfig) and len(value) == 0)


def _parents(path: str) -> list[str]:
    parts = path.split(".")
    return [".".join(parts[:i]) for i in range(1, len(parts))]


def _paths(tree: Any, prefix: str = "") -> list[str]:
    """Every dotted path of a nested mapping, inner nodes too."""
    out: list[str] = []
    for key, value in tree.items():
        path = f"{prefix}{key}"
        out.append(path)
        if isinstance(value, dict):
            out.extend(_paths(value, f"{path}."))
    return out


def trackers(config: DictConfig) -> list[str]:
    """veRL's trackers of a run; the console is ours."""
    logger = config.trainer.logger
    names = [logger] if isinstance(logger, str) else list(logger or [])
    return [name for name in names if name != "console"]


def _delete(config: DictConfig, path: str) -> None:
    parent, _, name = path.rpartition(".")
    node = OmegaConf.select(config, parent) if parent else config
    if node is None or name not in node:
        raise ConfigError(
            f"cannot remove `{path}` with ~: veRL's configuration has no such key",
            code="unknown-key",
            hint="check the path against veRL's ppo_trainer.yaml",
        )
    del node[name]


def check_batch_arithmetic(role: Role, config: DictConfig) -> None:
    """Refuse batch sizes that veRL cannot divide, before any process starts."""
    actor = config.actor_rollout_ref.actor
    rollout = config.actor_rollout_ref.rollout
    rows = actor.ppo_mini_batch_size * rollout.n
    workers = config.trainer.n_gpus_per_node * config.trainer.nnodes
    prefix = "" if role == "agent" else "genenv.env."
    if actor.ppo_mini_batch_size > config.data.train_batch_size:
        raise ConfigError(
            f"`{prefix}actor_rollout_ref.actor.ppo_mini_batch_size` ({actor.ppo_mini_batch_size}) "
            f"is larger than `{prefix}data.train_batch_size` ({config.data.train_batch_size})",
            code="batch-arithmetic",
            hint="make the mini-batch at most the batch",
        )
    if rows % workers != 0:
        raise ConfigError(
            f"a mini-batch of {rows} rows (`{prefix}actor_rollout_ref.actor.ppo_mini_batch_size` "
            f"x `rollout.n`) does not divide among {workers} workers "
            "(`trainer.n_gpus_per_node` x `trainer.nnodes`)",
            code="batch-arithmetic",
            hint=f"make ppo_mini_batch_size x rollout.n a multiple of {workers}",
        )
    micro = actor.ppo_micro_batch_size_per_gpu
    if actor.use_dynamic_bsz or micro is None or rows % (workers * micro) == 0:
        return
    fitting = _largest_divisor(rows // workers, micro)
    raise ConfigError(
        f"a mini-batch of {rows} rows (`{prefix}actor_rollout_ref.actor.ppo_mini_batch_size` "
        f"x `rollout.n`) does not divide by `ppo_micro_batch_size_per_gpu` ({micro}) "
        f"x {workers} worker(s)",
        code="batch-arithmetic",
        hint=f"use a micro-batch that divides {rows // workers}, for example {fitting}",
    )
