"""veRL's FSDP engine for the CPU: nothing is computed or copied twice.

The responses to a task share its prompt, and all prompts share the chat template's opening; veRL's
own engine would compute them again in each row. A token's hidden state depends only on the tokens
before it, so a micro-batch is laid out as one row with a node for each distinct beginning, and an
attention mask that shows a node its ancestors alone. Log-probabilities, entropies and gradients are
those of the padded batch.

A lone process has nothing to shard: FSDP would copy each weight and each gradient from itself to
itself, a fifth of an update's time. Its parameters stay plain tensors.
(Extension point: ``verl.workers.engine.EngineRegistry``.)
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
import verl.utils.torch_functional as verl_F
from tensordict import TensorDict
from torch.distributed.fsdp import fully_shard
from verl.utils import tensordict_utils as tu
from verl.utils.dataset.dataset_utils import DatasetPadMode
from verl.utils.model import extract_multi_modal_inputs
from verl.utils.torch_dtypes import PrecisionType
from verl.workers.engine.base import EngineRegistry
from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead

# Whose attention does as its mask says, in each layer. Others get veRL's padded batch.
_MASKED_MODELS = frozenset({"llama", "qwen2", "qwen3"})
# What only veRL's own layout of the logits serves.
_OTHER_LAYOUTS = (
    "use_fused_kernels",
    "calculate_sum_pi_squared",
    "distillation_use_topk",
    "distillation_only",
)


@dataclass(frozen=True)
class PrefixTree:
    """Sequences as a tree of their tokens; a node stands for one beginning.

    Attributes:
        ids: token of each node, int64 of shape (nodes,).
        depths: position of each node in its sequences, int64 of shape (nodes,).
        sees: (nodes, nodes), True where the row's node may attend to the column's.
        nodes: node of each token of the sequences, one after another, int64 of shape (tokens,).
    """

    ids: torch.Tensor
    depths: torch.Tensor
    sees: torch.Tensor
    nodes: torch.Tensor


def build_prefix_tree(values: torch.Tensor, offsets: torch.Tensor) -> PrefixTree:
    """The tree of the sequences ``values[offsets[i]:offsets[i + 1]]``."""
    found: dict[tuple[int, int], int] = {}
    parents: list[int] = []
    depths: list[int] = []
    nodes: list[int] = []
    tokens, bounds = values.tolist(), offsets.tolist()
    for start, end in pairwise(bounds):
        node = -1
        for depth in range(end - start):
            step = (node, tokens[start + depth])
            node = found.setdefault(step, len(found))
            if node == len(parents):
                parents.append(step[0])
                depths.append(depth)
            nodes.append(node)
    sees = np.eye(len(parents), dtype=bool)
    for node, parent in enumerate(parents):
        # Parents come first, so theirs is complete.
        if parent >= 0:
            sees[node] |= sees[parent]
    return PrefixTree(
        ids=torch.tensor([token for _, token in found], dtype=torch.long),
        depths=torch.tensor(depths, dtype=torch.long),
        sees=torch.from_numpy(sees),
        nodes=torch.tensor(nodes, dtype=torch.long),
    )


@EngineRegistry.register(model_type="language_model", backend=["fsdp", "fsdp2"], device="cpu")
class CPUEngine(FSDPEngineWithLMHead):
    """FSDP on the CPU; see the module."""

    def _build_fsdp_module(self, module: torch.nn.Module) -> torch.nn.Module:
        if not self._is_whole(module):
            return super()._build_fsdp_module(module)
        self._autocast_dtype = torch.float32
        self.scaler = None
        # Nothing to hand back and forth either: a CPU's parameters are in main memory.
        self._is_offload_param = self._is_offload_optimizer = False
        # Of FSDP only the name is left, which is what veRL tells its modules by.
        return fully_shard(module, mesh=self.device_mesh, ignored_params=set(module.parameters()))

    def _is_whole(self, module: torch.nn.Module) -> bool:
        """Whether this process has all of the model, and computes in the weights' own precision."""
        precision = self.engine_config.mixed_precision or {}
        dtypes = {parameter.dtype for parameter in module.parameters()}
        return (
            dist.get_world_size() == 1
            and self.engine_config.strategy == "fsdp2"
            and PrecisionType.to_dtype(precision.get("param_dtype", "bf16")) == torch.float32
            and dtypes == {torch.float32}
            and not self.model_config.enable_activation_offload
        )

    def prepare_model_inputs(
        self, micro_batch: TensorDict
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """What the model is called with, and what ``prepare_model_outputs`` has to know."""
        temperature = self._shared_temperature(micro_batch)
        if temperature is None:
            return super().prepare_model_inputs(micro_batch)
        input_ids = micro_batch["input_ids"]
        tree = build_prefix_tree(input_ids.values(), input_ids.offsets())
        inputs = {
            "input_ids": tree.ids[None],
            "position_ids": tree.depths[None],
            "attention_mask": tree.sees[None, None],
        }
        return inputs, {"nodes": tree.nodes, "temperature": temperature}

    def prepare_model_outputs(
        self,
        output: Any,
        output_args: dict[str, Any],
        micro_batch: TensorDict,
        logits_processor_func: Any,
    ) -> dict[str, torch.Tensor]:
        """``log_probs`` of each next token, and ``entropy`` where asked for, as veRL nests them."""
        nodes = output_args.get("nodes")
        if nodes is None:
            return super().prepare_model_outputs(
                output, output_args, micro_batch, logits_processor_func
            )
        input_ids = micro_batch["input_ids"]
        logits = output.logits.squeeze(0).float()
        if output_args["temperature"] != 1:
            logits = logits / output_args["temperature"]
        # As in veRL, a sequence's last token is paired with the next one's first: nobody reads it.
        labels = torch.roll(input_ids.values(), shifts=-1, dims=0)
        log_probs = logits[nodes, labels] - torch.logsumexp(logits, dim=-1)[nodes]
        outputs = {"log_probs": log_probs}
        if tu.get_non_tensor_data(data=micro_batch, key="calculate_entropy", default=False):
            outputs["entropy"] = verl_F.entropy_from_logits(logits)[nodes]
        offsets = input_ids.offsets()
        return {
            name: torch.nested.nested_tensor_from_jagged(value, offsets)
            for name, value in outputs.items()
        }

    def _shared_temperature(self, micro_batch: TensorDict) -> float | None:
        """The temperature of all rows; None where this micro-batch is laid out by veRL."""
        config = self.model_config.hf_config
        layers = getattr(config, "layer_types", None) or []
        is_masked = (
            config.model_type in _MASKED_MODELS
            and config._attn_implementation == "sdpa"
            and all(kind == "full_attention" for kind in layers)
        )
        pad_mode = tu.get_non_tensor_data(micro_batch, "pad_mode", DatasetPadMode.NO_PADDING)
        asked = any(tu.get_non_tensor_data(micro_batch, key, False) for key in _OTHER_LAYOUTS)
        asked |= tu.get_non_tensor_data(micro_batch, "use_remove_padding", True)
        if not is_masked or asked or pad_mode != DatasetPadMode.NO_PADDING:
            return None
        is_text = not extract_multi_modal_inputs(micro_batch.get("multi_modal_inputs", []))
        if not is_text or micro_batch["position_ids"].dim() != 2:
            return None
        temperatures = torch.as_tensor(micro_batch["temperature"]).unique()
        return temperatures.item() if temperatures.numel() == 1 else None
