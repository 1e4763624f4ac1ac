"""What writeDataset() writes, read by veRL's own dataset class, and the lengths of its prompts."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from genenv.errors import ConfigError, DataError, WorkerError
from genenv.token_lengths import TokenCounter, token_lengths

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


def test_a_chat_that_the_template_refuses_is_shown_with_the_templates_own_words(
    model: str, tmp_path: Path
) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    tokenizer.chat_template = "{{ raise_exception('roles must alternate') }}"
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(DataError) as raised:
        lengths(str(tmp_path), "What is 2 + 2?")
    assert raised.value.code == "chat-template"
    assert raised.value.message == (
        "the model's chat template refuses the prompt "
        "[{'role': 'user', 'content': 'What is 2 + 2?'}]: roles must alternate"
    )


def test_a_folder_without_a_tokenizer_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"the tokenizer of {tmp_path} can't be loaded") as raised:
        lengths(str(tmp_path), "a")
    assert raised.value.code == "not-a-model"


def test_counting_without_torch_gives_what_torchs_own_side_counts(model: str) -> None:
    chats = [
        [{"role": "user", "content": "What is 7 + 5?"}],
        [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Grüße, 你好"}],
    ]
    counted = []
    for with_torch in (False, True):
        with TokenCounter(with_torch=with_torch) as counter:
            loaded = counter._pool.submit(_torch_is_loaded).result()
            assert loaded is with_torch
            counted.append(counter.lengths(model, chats, template={"enable_thinking": False}))
    assert counted[0] == counted[1]


def _torch_is_loaded() -> bool:
    import sys

    return sys.modules.get("torch") is not None


def test_variables_of_the_chat_template_count_too(model: str, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    tokenizer.chat_template = "{{ messages[0].content }}{{ extra | default('') }}"
    tokenizer.save_pretrained(tmp_path)
    chats = [[{"role": "user", "content": "ab"}]]
    with TokenCounter() as counter:
        assert counter.lengths(str(tmp_path), chats) == [2]
        assert counter.lengths(str(tmp_path), chats, template={"extra": "cde"}) == [5]


def test_a_counter_that_is_killed_says_so(model: str) -> None:
    with TokenCounter() as counter:
        counter.lengths(model, [])
        (process,) = counter._pool._processes.values()
        process.kill()
        with pytest.raises(WorkerError) as raised:
            counter.lengths(model, [[{"role": "user", "content": "a"}]])
    assert raised.value.code == "worker-died"
    assert raised.value.message == "the process that counts the prompts' tokens died"
