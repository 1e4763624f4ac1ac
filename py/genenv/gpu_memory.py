"""What a role needs of each GPU's memory, estimated before anything is loaded.

Sources: FSDP2 shards parameters, gradients and optimiser over all GPUs (ZeRO-3, arXiv 1910.02054);
activations with and without recomputation after arXiv 2205.05198, table 2; vLLM takes
``gpu_memory_utilization`` of the whole device for weights, KV cache and its own activations.
The estimate is for dense transformers and errs towards too much; it is there to refuse what cannot
fit, not to promise what will.
"""

from dataclasses import dataclass
from typing import Any

from genenv.errors import ConfigError
from genenv.model_shape import GIB, Shape, activation_bytes

# CUDA's context, NCCL's buffers, the allocator's fragments.
_OVERHEAD = 3.0 * GIB
_NUMBER_BYTES = 2
_LOGIT_COPIES = 3


@dataclass(frozen=True)
class Estimate:
    """Bytes on each GPU of one role. Training and rollout take turns; the larger one counts.

    Attributes:
        weights: the trainer's share of parameters and gradients.
        reference: the reference policy's share; 0 where there is none.
        optimiser: Adam's share: two moments and a master copy in 32 bits.
        activations: of one micro-batch, logits included.
        rollout_weights: vLLM's share of the weights.
        kv_cache: what vLLM's part of the device leaves for it.
        kv_sequence: KV cache of one sequence of full length.
        resident: what stays on the device during a rollout: nothing of what is offloaded.
    """

    weights: float
    reference: float
    optimiser: float
    activations: float
    rollout_weights: float
    kv_cache: float
    kv_sequence: float
    resident: float

    @property
    def training(self) -> float:
        return self.weights + self.reference + self.optimiser + self.activations + _OVERHEAD


def estimate(shape: Shape, config: Any, device_bytes: float) -> Estimate:
    """Bytes a GPU for one role.

    Args:
        shape: of its model.
        config: its complete veRL configuration.
        device_bytes: memory of one GPU.
    """
    root = config.actor_rollout_ref
    gpus = config.trainer.nnodes * config.trainer.n_gpus_per_node
    tp = root.rollout.tensor_model_parallel_size
    sequence = config.data.max_prompt_length + config.data.max_response_length
    lora = root.model.lora_rank
    trained = shape.parameters if lora == 0 else _lora_parameters(shape, lora)
    # FSDP keeps parameters in 32 bits while it trains them; frozen ones are in bf16.
    weights = (4 * trained + 4 * trained) if lora == 0 else (2 * shape.parameters + 8 * trained)
    reference = 2 * shape.parameters if root.actor.use_kl_loss and lora == 0 else 0
    params, optim = root.actor.fsdp_config.param_offload, root.actor.fsdp_config.optimizer_offload
    shard = (4 if lora == 0 else 2) * shape.parameters / gpus
    rollout_weights = 2 * shape.parameters / tp
    share = root.rollout.gpu_memory_utilization * device_bytes
    return Estimate(
        weights=weights / gpus,
        # FSDP2 brings an offloaded reference in layer by layer.
        reference=0 if root.ref.fsdp_config.param_offload else reference / gpus,
        optimiser=8 * trained / gpus,
        activations=activation_bytes(
            shape, config, number=_NUMBER_BYTES, logit_copies=_LOGIT_COPIES
        ),
        rollout_weights=rollout_weights,
        kv_cache=share - rollout_weights - _rollout_activations(shape, config) - _OVERHEAD / 2,
        kv_sequence=shape.kv_bytes(_NUMBER_BYTES, tp) * sequence,
        resident=(0 if params else shard) + (0 if optim else 8 * trained / gpus),
    )


def _lora_parameters(shape: Shape, rank: int) -> int:
    """Two thin matrices beside each of a layer's seven linear ones."""
    kv = shape.heads * shape.head_size
    sizes = 2 * (shape.hidden + shape.hidden) + 2 * (shape.hidden + kv)
    sizes += 3 * (shape.hidden + shape.intermediate)
    return shape.layers * rank * sizes


def _rollout_activations(shape: Shape, config: Any) -> float:
    tokens = int(config.actor_rollout_ref.rollout.max_num_batched_tokens)
    return float(
        tokens * (2 * (shape.hidden * 4 + shape.intermediate * 2)) + 256 * 4 * shape.vocabulary
    )


def describe(of: Estimate) -> str:
    """The parts in GiB, for messages."""
    parts = [
        ("weights and gradients", of.weights),
        ("reference", of.reference),
        ("optimiser", of.optimiser),
        ("activations", of.activations),
    ]
    training = ", ".join(f"{name} {size / GIB:.1f}" for name, size in parts if size)
    return (
        f"training {of.training / GIB:.1f} ({training}), "
        f"rollout weights {of.rollout_weights / GIB:.1f} and KV cache {of.kv_cache / GIB:.1f}"
    )


def refuse_too_large(role: str, config: Any, of: Estimate, device_bytes: float) -> None:
    """Raise where a role cannot fit into its GPUs.

    Raises:
        ConfigError: what is too large, by how much, and what to change.
    """
    prefix = "" if role == "agent" else "genenv.env."
    root = f"{prefix}actor_rollout_ref"
    if of.training > device_bytes:
        raise _too_large(role, "training", of.training, device_bytes, of, _training_hint(root, of))
    if of.kv_cache < of.kv_sequence:
        hint = (
            f"raise {root}.rollout.tensor_model_parallel_size or gpu_memory_utilization (now "
            f"{config.actor_rollout_ref.rollout.gpu_memory_utilization}), or shorten "
            f"{prefix}data.max_prompt_length"
        )
        needed = of.rollout_weights + of.kv_sequence
        raise _too_large(role, "one sequence of the rollout", needed, device_bytes, of, hint)
    share = config.actor_rollout_ref.rollout.gpu_memory_utilization * device_bytes
    together = of.resident + share
    if together > device_bytes:
        hint = (
            f"lower {root}.rollout.gpu_memory_utilization, or set "
            f"{root}.actor.fsdp_config.param_offload=true and optimizer_offload=true"
        )
        raise _too_large(
            role, "the rollout beside what the trainer keeps", together, device_bytes, of, hint
        )


def _training_hint(root: str, of: Estimate) -> str:
    if of.activations > of.weights + of.optimiser:
        return (
            f"lower {root}.actor.ppo_micro_batch_size_per_gpu (or ppo_max_token_len_per_gpu), set "
            f"{root}.model.enable_gradient_checkpointing=true, or shorten the data"
        )
    return (
        "use more GPUs (trainer.n_gpus_per_node, trainer.nnodes), train an adapter "
        f"({root}.model.lora_rank=32), or take a smaller model"
    )


def _too_large(
    role: str, what: str, needed: float, device: float, of: Estimate, hint: str
) -> ConfigError:
    return ConfigError(
        f"{what} of the {role} needs about {needed / GIB:.0f} GiB on each GPU, which has "
        f"{device / GIB:.0f}: {describe(of)} GiB",
        code="gpu-memory",
        hint=hint,
    )
