"""What writeDataset() writes, read by veRL's own dataset class, and the lengths of its prompts."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from genenv.errors import ConfigError
from genenv.token_lengths import token_lengths

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "examples").glob("*/data/*.parquet"))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    from genenv.models import prepare_builtin

    return str(prepare_builtin("tiny", tmp_path_factory.mktemp("models")).path)


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parts[-3]}-{file.stem}")
def test_veRLs_dataset_reads_every_row(file: Path, model: str) -> None:
    from omegaconf import OmegaConf
    from transformers import AutoTokenizer
    from verl.utils.dataset.rl_dataset import RLHFDataset

    config = OmegaConf.create(
        {"max_prompt_length": 4096, "filter_overlong_prompts": True, "return_raw_chat": True}
    )
    tokenizer = AutoTokenizer.from_pretrained(model)
    dataset = RLHFDataset([str(file)], tokenizer, config)
    assert len(dataset) > 0
    for i in range(len(dataset)):
        row = dataset[i]
        assert [set(message) for message in row["raw_prompt"]] == [{"role", "content"}]
        assert row["reward_model"]["style"] == "rule"
        assert row["reward_model"]["ground_truth"]
        assert row["data_source"] == file.parts[-3]
        assert row["index"] == i


def lengths(model: str, *texts: str) -> list[int]:
    prompts = [[{"role": "user", "content": text}] for text in texts]
    return token_lengths(
        {"model": model, "prompts": prompts}, lambda event: None, threading.Event()
    )["lengths"]


def test_a_longer_prompt_has_more_tokens_each_counted_with_the_template(model: str) -> None:
    short, longer = lengths(model, "a", "abcd")
    assert longer - short == 3
    assert short > 1
    assert lengths(model) == []


def test_a_tokenizer_without_a_template_is_refused(model: str, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    tokenizer.chat_template = None
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(ConfigError, match="no chat template") as raised:
        lengths(str(tmp_path), "a")
    assert raised.value.code == "no-chat-template"
