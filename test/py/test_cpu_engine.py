"""The CPU's engine against veRL's own layout of a micro-batch: same numbers, fewer tokens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs the Python environment of genenv setup")
pytest.importorskip("verl")

from genenv.plugin.cpu_engine import CPUEngine, build_prefix_tree  # noqa: E402
from tensordict import TensorDict  # noqa: E402
from torch.distributed.tensor import DTensor  # noqa: E402
from transformers import LlamaConfig, LlamaForCausalLM  # noqa: E402
from verl.utils import tensordict_utils as tu  # noqa: E402
from verl.utils.fsdp_utils import fsdp_version  # noqa: E402
from verl.workers.config import FSDPEngineConfig  # noqa: E402
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
    for kind in (FSDPEngineWithLMHead, CPUEngine):
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
    _, tokens = outputs_of(engine_of(CPUEngine, **config), micro_batch(**flags))
    assert tokens == 24


@pytest.fixture
def mesh(tmp_path: Path) -> Iterator[Any]:
    """A device mesh of one process."""
    address = f"file://{tmp_path}/store"
    torch.distributed.init_process_group("gloo", init_method=address, rank=0, world_size=1)
    try:
        yield torch.distributed.device_mesh.init_device_mesh("cpu", (1,))
    finally:
        torch.distributed.destroy_process_group()


def engine_to_build(mesh: Any, **config: Any) -> Any:
    engine = engine_of(CPUEngine)
    engine.model_config.enable_activation_offload = False
    engine.device_mesh = mesh
    settings = {"strategy": "fsdp2", "mixed_precision": {"param_dtype": "float32"}} | config
    engine.engine_config = FSDPEngineConfig(entropy_checkpointing=False, **settings)
    return engine


def test_a_lone_process_keeps_its_parameters_whole(mesh: Any) -> None:
    engine = engine_to_build(mesh)
    before = {name: value.clone() for name, value in engine.module.state_dict().items()}
    module = engine._build_fsdp_module(engine.module)
    assert fsdp_version(module) == 2
    for name, value in module.state_dict().items():
        assert not isinstance(value, DTensor)
        torch.testing.assert_close(value, before[name])
    outputs, _ = outputs_of(engine, micro_batch())
    outputs["log_probs"].values().sum().backward()
    assert all(parameter.grad is not None for parameter in module.parameters())


@pytest.mark.parametrize(
    "config", [{"strategy": "fsdp"}, {"mixed_precision": {"param_dtype": "bfloat16"}}]
)
def test_what_computes_in_another_precision_or_by_another_strategy_is_left_to_fsdp(
    mesh: Any, config: dict[str, Any]
) -> None:
    engine = engine_to_build(mesh, **config)
    assert not engine._is_whole(engine.module)


def test_a_process_among_several_shards_its_model(
    mesh: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_to_build(mesh)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    assert not engine._is_whole(engine.module)
