"""What is found before Ray starts: prompts over the limit, and a reward that cannot load."""

import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from genenv.errors import ConfigError, DataError
from genenv.loop import check as check_module
from genenv.loop.check import check


class WordCounter:
    """A token a word, and two for the chat's frame."""

    def __init__(self, **_: bool) -> None: ...

    def __enter__(self) -> "WordCounter":
        return self

    def __exit__(self, *_: object) -> None: ...

    def lengths(self, _model: str, chats: list[list[dict[str, str]]], **_: Any) -> list[int]:
        return [2 + sum(len(message["content"].split()) for message in chat) for chat in chats]


@pytest.fixture(autouse=True)
def _words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_module, "TokenCounter", WordCounter)


def written(path: Path, prompts: list[str]) -> str:
    rows = [
        {
            "data_source": "test",
            "prompt": [{"role": "user", "content": prompt}],
            "reward_model": {"style": "rule", "ground_truth": "1"},
        }
        for prompt in prompts
    ]
    pq.write_table(pa.Table.from_pylist(rows), path)
    return str(path)


def params(tmp_path: Path, train: list[str], **reward: Any) -> dict[str, Any]:
    agent = {
        "data": {
            "train_files": written(tmp_path / "train.parquet", train),
            "val_files": written(tmp_path / "val.parquet", ["one two"]),
            "train_batch_size": 2,
            "max_prompt_length": 5,
            "max_response_length": 4,
        },
        "actor_rollout_ref": {
            "model": {"path": "/nowhere"},
            "actor": {"ppo_mini_batch_size": 2},
            "rollout": {"n": 2},
        },
        "reward": {"custom_reward_function": reward} if reward else {},
    }
    genenv = {
        "enable": False,
        "hooks": {"scoring": "batch"},
        "device": "cpu",
        "env_update": "rwr",
        "lambda": 5,
        "num_generations_per_prompt": 2,
        "env": {},
        "ray_address": None,
        "share_gpus": False,
        "gpu_memory_gib": None,
    }
    return {
        "runDir": str(tmp_path),
        "genenv": genenv,
        "verl": {"agent": agent, "environment": agent, "added": [], "deleted": []},
        "envModelPath": None,
        "hooks": {"address": "unix:/nowhere", "token": None},
    }


def run(given: dict[str, Any]) -> dict[str, Any]:
    return check(given, lambda _event: None, threading.Event())


def test_measures_the_longest_prompt_of_each_file(tmp_path: Path) -> None:
    assert run(params(tmp_path, ["a", "a b c"]))["tokens"] == {"train": 5, "validation": 4}


def test_a_prompt_just_over_the_limit_is_named_by_row_with_its_tokens(tmp_path: Path) -> None:
    with pytest.raises(DataError) as raised:
        run(params(tmp_path, ["a b c", "a b c d", "a"]))
    assert raised.value.code == "prompt-too-long"
    assert "1 prompts of the train data" in raised.value.message
    assert "row 1 (6 tokens)" in raised.value.message
    assert "data.max_prompt_length=6" in (raised.value.hint or "")


def test_many_long_prompts_are_counted_and_the_first_few_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"row 4 \(6 tokens\) and 3 more"):
        run(params(tmp_path, ["a b c d"] * 8))


def test_a_python_reward_that_is_not_there_is_found_too(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        run(params(tmp_path, ["a"], path=str(tmp_path / "none.py"), name="compute_score"))
    assert raised.value.code == "hook-missing"


def test_more_gpus_than_the_machine_has_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    given = params(tmp_path, ["a"])
    given["genenv"]["device"] = "cuda"
    trainer = given["verl"]["agent"].setdefault("trainer", {})
    trainer["n_gpus_per_node"] = 2
    given["verl"]["agent"]["actor_rollout_ref"]["actor"]["ppo_micro_batch_size_per_gpu"] = 1
    assert run(given)["tokens"]["train"] == 3
    trainer["n_gpus_per_node"] = 4
    with pytest.raises(ConfigError, match="this machine 2 of 2 free") as caught:
        run(given)
    assert caught.value.code == "no-place"
