"""The CPU's engine against veRL's own layout of a micro-batch: same numbers, fewer tokens."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs the Python environment of genenv setup")
pytest.importorskip("verl")

from genenv.plugin.cpu_engine import PrefixSharingEngine, build_prefix_tree  # noqa: E402
from tensordict import TensorDict  # noqa: E402
from transformers import LlamaConfig, LlamaForCausalLM  # noqa: E402
from verl.utils import tensordict_utils as tu  # noqa: E402
from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead  # noqa: E402

# Two tasks with the same opening, two responses each; two of them begin alike.
SEQUENCES = [[1, 2, 3, 7, 8, 9], [1, 2, 3, 7, 5], [1, 2, 4, 7], [1, 2, 4, 6, 6, 6]]


def nested(rows: list[list[int]]) -> Any:
    return torch.nested.as_nested_tensor([torch.tensor(row) for row in rows], layout=torch.jagged)


def micro_batch(temperature: Any = 1.0, **flags: Any) -> TensorDict:
    positions = [list(range(len(row))) for row in SEQUENCES]
    batch = TensorDict(
        {"input_ids": nested(SEQUENCES), "position_ids": nested(positions)},
        batch_size=[len(SEQUENCES)],
    )
    given = {"use_remove_padding": False, "temperature": temperature, "pad_token_id": 0} | flags
    tu.assign_non_tensor(batch, **given)
    return batch


def engine_of(kind: type, **config: Any) -> Any:
    """An engine around a small model, without its optimiser and process group."""
    torch.manual_seed(0)
    shape = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 12}
    model = LlamaForCausalLM(LlamaConfig(**shape, **heads, attn_implementation="sdpa"))
    for name, value in config.items():
        setattr(model.config, name, value)
    engine = object.__new__(kind)
    engine.module, engine.pad_to_length = model, None
    engine.model_config = SimpleNamespace(hf_config=model.config)
    engine.engine_config = SimpleNamespace(entropy_checkpointing=False)
    return engine


def outputs_of(engine: Any, batch: TensorDict) -> tuple[dict[str, Any], int]:
    """The model's outputs, and how many tokens it was given."""
    inputs, args = engine.prepare_model_inputs(batch)
    raw = engine.module(**inputs, use_cache=False)
    return engine.prepare_model_outputs(raw, args, batch, None), inputs["input_ids"].numel()


def test_a_tree_has_a_node_for_each_beginning_which_sees_its_ancestors() -> None:
    ids = nested([[5, 6, 7], [5, 6, 8], [5, 6, 7]])
    tree = build_prefix_tree(ids.values(), ids.offsets())
    assert tree.ids.tolist() == [5, 6, 7, 8]
    assert tree.depths.tolist() == [0, 1, 2, 2]
    assert tree.nodes.tolist() == [0, 1, 2, 0, 1, 3, 0, 1, 2]
    assert tree.sees.int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 0, 1]]


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_log_probs_entropies_and_gradients_are_those_of_verls_batch(temperature: float) -> None:
    results = []
    for kind in (FSDPEngineWithLMHead, PrefixSharingEngine):
        engine = engine_of(kind)
        batch = micro_batch(temperature, calculate_entropy=True)
        outputs, tokens = outputs_of(engine, batch)
        assert outputs["log_probs"].offsets().tolist() == [0, 6, 11, 15, 21]
        # The last token of a sequence predicts nothing that is read.
        read = torch.tensor([i not in (5, 10, 14, 20) for i in range(21)])
        log_probs, entropy = outputs["log_probs"].values(), outputs["entropy"].values()
        weights = torch.linspace(-1, 1, 21)
        ((log_probs * weights)[read].sum() + entropy[read].sum()).backward()
        gradients = {name: p.grad for name, p in engine.module.named_parameters()}
        results.append((log_probs[read], entropy[read], gradients, tokens))
    (log_probs, entropy, gradients, tokens), (ours, our_entropy, our_gradients, fewer) = results
    assert (tokens, fewer) == (24, 12)
    torch.testing.assert_close(ours, log_probs)
    torch.testing.assert_close(our_entropy, entropy)
    for name, gradient in gradients.items():
        torch.testing.assert_close(our_gradients[name], gradient, msg=name)


@pytest.mark.parametrize(
    ("flags", "config"),
    [
        ({"temperature": torch.tensor([1.0, 1.0, 0.5, 0.5])}, {}),
        ({"calculate_sum_pi_squared": True}, {}),
        ({}, {"model_type": "mamba"}),
        ({}, {"_attn_implementation": "eager"}),
        ({}, {"layer_types": ["full_attention", "sliding_attention"]}),
    ],
)
def test_what_a_tree_does_not_serve_is_laid_out_by_verl(
    flags: dict[str, Any], config: dict[str, Any]
) -> None:
    _, tokens = outputs_of(engine_of(PrefixSharingEngine, **config), micro_batch(**flags))
    assert tokens == 24
