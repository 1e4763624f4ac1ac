"""Estimates of a CPU run's memory against sizes worked by hand, and what is refused by them."""

from pathlib import Path
from typing import Any

import psutil
import pytest
from genenv.errors import ConfigError
from genenv.host_memory import free_bytes, refuse_full_machine, role_bytes
from genenv.model_shape import GIB, Shape
from omegaconf import OmegaConf

SMOLLM2 = Shape(30, 576, 1536, 49152, 3, 64, tied=True)


def config(*, kl: bool = False, dtype: str = "float32", recompute: bool = False) -> Any:
    return OmegaConf.create(
        {
            "data": {"max_prompt_length": 96, "max_response_length": 24},
            "actor_rollout_ref": {
                "model": {"enable_gradient_checkpointing": recompute},
                "actor": {
                    "use_kl_loss": kl,
                    "use_dynamic_bsz": True,
                    "ppo_max_token_len_per_gpu": 1024,
                    "fsdp_config": {"dtype": dtype},
                },
            },
        }
    )


def test_a_role_holds_five_copies_and_a_reference_where_it_has_one() -> None:
    held, update = role_bytes(SMOLLM2, config())
    assert held == 5 * 4 * SMOLLM2.parameters
    # 1,024 tokens: 17 numbers of 4 bytes a layer and hidden unit, and twice the logits.
    assert update == 1024 * (4 * 17 * 30 * 576 + 2 * 4 * 49152)
    assert role_bytes(SMOLLM2, config(kl=True))[0] == 6 * 4 * SMOLLM2.parameters
    assert role_bytes(SMOLLM2, config(dtype="bfloat16"))[0] == held / 2
    assert role_bytes(SMOLLM2, config(recompute=True))[1] < update / 2


def test_a_run_that_fits_is_let_through() -> None:
    roles = {"agent": (SMOLLM2, config()), "environment": (SMOLLM2, config(kl=True))}
    refuse_full_machine(roles, 16 * GIB)


def test_a_run_that_memory_cannot_hold_is_refused_with_both_sizes() -> None:
    roles = {"agent": (SMOLLM2, config()), "environment": (SMOLLM2, config(kl=True))}
    with pytest.raises(ConfigError) as caught:
        refuse_full_machine(roles, 6.25 * GIB)
    # 2.5 + 11 copies of 0.5 and an update of 1.5.
    assert str(caught.value) == "this run needs about 10 GiB of memory, and 6.2 GiB are free"
    assert caught.value.code == "host-memory"
    assert "npx genenv ls" in (caught.value.hint or "")


def test_what_is_free_is_the_containers_where_it_has_a_limit(tmp_path: Path) -> None:
    machine = psutil.virtual_memory().available
    assert free_bytes(tmp_path) == pytest.approx(machine, rel=0.2)
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("1000\n")
    assert free_bytes(tmp_path) == pytest.approx(machine, rel=0.2)
    (tmp_path / "memory.max").write_text("1500\n")
    assert free_bytes(tmp_path) == 500
