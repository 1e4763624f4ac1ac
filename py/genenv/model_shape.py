"""A dense transformer's sizes, by which memory is estimated before anything is loaded."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GIB = 1024.0**3
# Kept for each token, hidden unit and layer, in numbers (arXiv 2205.05198, table 2). Attention's
# own scores are not kept: the fused kernels work without them.
_KEPT_NUMBERS = 17


@dataclass(frozen=True)
class Shape:
    """A model's sizes, from its config.json; ``heads`` counts key-value heads."""

    layers: int
    hidden: int
    intermediate: int
    vocabulary: int
    heads: int
    head_size: int
    tied: bool
    # The longest sequence it knows, in tokens; 0 where its configuration doesn't say.
    longest: int = 0

    @property
    def parameters(self) -> int:
        """Weights of a dense decoder with gated feed-forward layers and grouped attention."""
        attention = 2 * self.hidden * self.hidden + 2 * self.hidden * self.heads * self.head_size
        layer = attention + 3 * self.hidden * self.intermediate + 2 * self.hidden
        embeddings = self.vocabulary * self.hidden * (1 if self.tied else 2)
        return self.layers * layer + embeddings + self.hidden

    def kv_bytes(self, number: int, devices: int = 1) -> float:
        """Bytes of a token's keys and values on each device, of ``number`` bytes a number."""
        return 2 * number * self.layers * max(1, self.heads / devices) * self.head_size


def read_shape(model: str) -> Shape | None:
    """A model's sizes from its folder; None where it is a hub id that is not here."""
    file = Path(model) / "config.json"
    if not file.is_file():
        return None
    config = json.loads(file.read_text())
    query_heads = int(config["num_attention_heads"])
    hidden = int(config["hidden_size"])
    return Shape(
        layers=int(config["num_hidden_layers"]),
        hidden=hidden,
        intermediate=int(config["intermediate_size"]),
        vocabulary=int(config["vocab_size"]),
        heads=int(config.get("num_key_value_heads") or query_heads),
        head_size=int(config.get("head_dim") or hidden // query_heads),
        tied=bool(config.get("tie_word_embeddings", False)),
        longest=int(config.get("max_position_embeddings") or 0),
    )


def micro_batch_tokens(config: Any) -> int:
    """Tokens of a role's largest micro-batch, by its complete veRL configuration."""
    sequence = config.data.max_prompt_length + config.data.max_response_length
    actor = config.actor_rollout_ref.actor
    if actor.use_dynamic_bsz:
        return max(int(actor.ppo_max_token_len_per_gpu), sequence)
    return int(actor.ppo_micro_batch_size_per_gpu or 1) * sequence


def activation_bytes(shape: Shape, config: Any, *, number: int, logit_copies: int) -> float:
    """What the update of a role's largest micro-batch keeps, in bytes.

    Args:
        shape: of its model.
        config: its complete veRL configuration.
        number: bytes of a number.
        logit_copies: how often the logits are there at once, in 32 bits.
    """
    if config.actor_rollout_ref.model.enable_gradient_checkpointing:
        # Each layer's input, and one layer at a time whole.
        kept = shape.layers + _KEPT_NUMBERS
    else:
        kept = _KEPT_NUMBERS * shape.layers
    token = number * kept * shape.hidden + logit_copies * 4 * shape.vocabulary
    return float(micro_batch_tokens(config) * token)
