"""Estimates of a GPU's memory against sizes worked by hand, and what is refused by them."""

import json
from pathlib import Path
from typing import Any

import pytest
from genenv.errors import ConfigError
from genenv.gpu_memory import estimate, refuse_too_large
from genenv.model_shape import GIB, Shape, read_shape
from omegaconf import OmegaConf

# config.json of Qwen2.5-7B-Instruct and of Qwen2.5-0.5B-Instruct.
QWEN_7B = Shape(28, 3584, 18944, 152064, 4, 128, tied=False)
QWEN_HALF = Shape(24, 896, 4864, 151936, 2, 64, tied=True)


def config(**changes: Any) -> Any:
    tree = OmegaConf.create(
        {
            "data": {"max_prompt_length": 4096, "max_response_length": 512},
            "trainer": {"nnodes": 1, "n_gpus_per_node": 8},
            "actor_rollout_ref": {
                "model": {"lora_rank": 0, "enable_gradient_checkpointing": True},
                "actor": {
                    "use_kl_loss": True,
                    "use_dynamic_bsz": False,
                    "ppo_micro_batch_size_per_gpu": 2,
                    "ppo_max_token_len_per_gpu": 16384,
                    "fsdp_config": {"param_offload": True, "optimizer_offload": True},
                },
                "ref": {"fsdp_config": {"param_offload": False}},
                "rollout": {
                    "tensor_model_parallel_size": 1,
                    "gpu_memory_utilization": 0.6,
                    "max_num_batched_tokens": 8192,
                },
            },
        }
    )
    for key, value in changes.items():
        OmegaConf.update(tree, key.replace("__", "."), value)
    return tree


def refused(shape: Shape, of: Any, gib: float, role: str = "agent") -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        refuse_too_large(role, of, estimate(shape, of, gib * GIB), gib * GIB)
    assert caught.value.code == "gpu-memory"
    return caught.value


def test_parameters_are_those_of_the_model_cards() -> None:
    # 7.62 and 0.494 billion; biases and the like are under a thousandth.
    assert QWEN_7B.parameters == pytest.approx(7.616e9, rel=2e-3)
    assert QWEN_HALF.parameters == pytest.approx(0.494e9, rel=2e-3)


def test_a_shape_is_read_from_the_models_folder(tmp_path: Path) -> None:
    assert read_shape(str(tmp_path)) is None
    sizes = {
        "num_hidden_layers": 24,
        "hidden_size": 896,
        "intermediate_size": 4864,
        "vocab_size": 151936,
        "num_attention_heads": 14,
        "num_key_value_heads": 2,
        "tie_word_embeddings": True,
    }
    (tmp_path / "config.json").write_text(json.dumps(sizes))
    assert read_shape(str(tmp_path)) == QWEN_HALF


def test_sixteen_bytes_a_parameter_are_shared_out_over_all_gpus() -> None:
    of = estimate(QWEN_7B, config(), 80 * GIB)
    per_gpu = 7.616e9 / 8
    assert of.weights == pytest.approx(8 * per_gpu, rel=2e-3)
    assert of.optimiser == pytest.approx(8 * per_gpu, rel=2e-3)
    assert of.reference == pytest.approx(2 * per_gpu, rel=2e-3)
    assert estimate(QWEN_7B, config(trainer__nnodes=2), 80 * GIB).weights == of.weights / 2


def test_a_tokens_keys_and_values_take_57344_bytes() -> None:
    # 2 x 2 bytes x 28 layers x 4 heads x 128.
    of = estimate(QWEN_7B, config(), 80 * GIB)
    assert of.kv_sequence == 57344 * 4608


def test_recomputation_saves_activations_and_logits_stay() -> None:
    with_it = estimate(QWEN_7B, config(), 80 * GIB).activations
    whole = config(actor_rollout_ref__model__enable_gradient_checkpointing=False)
    without = estimate(QWEN_7B, whole, 80 * GIB).activations
    assert with_it > 2 * 4608 * 12 * 152064
    # 34 x 28 against 2 x 28 + 34 bytes a token and unit.
    assert without - with_it == 2 * 4608 * 3584 * (34 * 28 - 2 * 28 - 34)


def test_the_papers_run_fits_eight_gpus_of_80_gb_and_not_one() -> None:
    of = config()
    refuse_too_large("agent", of, estimate(QWEN_7B, of, 80 * GIB), 80 * GIB)
    one = refused(QWEN_7B, config(trainer__n_gpus_per_node=1), 80)
    assert "training of the agent needs about" in str(one)
    assert "has 80" in str(one)
    assert "lora_rank=32" in str(one.hint)


def test_a_micro_batch_that_is_too_large_is_what_is_to_be_changed() -> None:
    of = config(actor_rollout_ref__actor__ppo_micro_batch_size_per_gpu=16)
    error = refused(QWEN_7B, of, 80, role="environment")
    assert "genenv.env.actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu" in str(error.hint)


def test_an_adapter_trains_where_the_whole_model_does_not() -> None:
    of = config(trainer__n_gpus_per_node=1, actor_rollout_ref__model__lora_rank=32)
    refuse_too_large("agent", of, estimate(QWEN_7B, of, 80 * GIB), 80 * GIB)


def test_a_rollout_without_room_for_one_sequence_is_refused() -> None:
    of = config(actor_rollout_ref__rollout__gpu_memory_utilization=0.2)
    error = refused(QWEN_7B, of, 80)
    assert "one sequence of the rollout" in str(error)
    assert "tensor_model_parallel_size" in str(error.hint)


def test_what_the_trainer_keeps_during_a_rollout_must_fit_beside_it() -> None:
    kept = config(
        actor_rollout_ref__actor__fsdp_config__param_offload=False,
        actor_rollout_ref__actor__fsdp_config__optimizer_offload=False,
        actor_rollout_ref__rollout__gpu_memory_utilization=0.9,
    )
    error = refused(QWEN_7B, kept, 80)
    assert "beside what the trainer keeps" in str(error)
    assert "param_offload=true" in str(error.hint)
