"""The built-in models: the tiny one is made for real, SmolLM2 only where it is made already."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest
from genenv import models
from genenv.errors import ConfigError

torch = pytest.importorskip("torch", reason="needs the Python environment of genenv setup")
transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cache = tmp_path_factory.mktemp("cache")
    prepared = models.prepare_builtin("tiny", cache)
    assert prepared.made
    return prepared.path


def test_the_tiny_model_has_as_many_ids_as_its_tokenizer(tiny: Path) -> None:
    model = transformers.AutoModelForCausalLM.from_pretrained(tiny)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny)
    assert model.config.vocab_size == len(tokenizer) == 99
    assert model.num_parameters() == 997_376


def test_the_tiny_tokenizer_gives_text_back_character_by_character(tiny: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny)
    ids = tokenizer("3 + 4\n= 7")["input_ids"]
    assert len(ids) == 9
    assert tokenizer.decode(ids) == "3 + 4\n= 7"
    # What it has no id for counts as a question mark.
    assert tokenizer.decode(tokenizer("ü")["input_ids"]) == "?"


def test_the_tiny_chat_template_adds_no_system_prompt(tiny: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny)
    text = tokenizer.apply_chat_template(
        [{"role": "user", "content": "hi"}], add_generation_prompt=True, tokenize=False
    )
    assert text == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"


def test_is_made_once_and_the_same_each_time(tiny: Path, tmp_path: Path) -> None:
    assert models.prepare_builtin("tiny", tiny.parents[1]) == models.Prepared(tiny, made=False)
    torch.manual_seed(99)
    again = models.prepare_builtin("tiny", tmp_path).path
    assert (again / "model.safetensors").read_bytes() == (tiny / "model.safetensors").read_bytes()


def test_a_model_is_found_only_when_it_is_whole(tiny: Path, tmp_path: Path) -> None:
    def find(cache: Path) -> str | None:
        params = {"name": "tiny", "cacheDir": str(cache)}
        return models.find_job(params, lambda event: None, threading.Event())["path"]

    assert find(tiny.parents[1]) == str(tiny)
    assert find(tmp_path) is None
    (tmp_path / "models" / tiny.name).mkdir(parents=True)
    assert find(tmp_path) is None


def test_a_folder_without_the_marker_is_made_anew(tmp_path: Path, monkeypatch) -> None:
    half = tmp_path / "models" / "tiny-v1"
    half.mkdir(parents=True)
    (half / "config.json").write_text("{")
    monkeypatch.setitem(models._RECIPES, "tiny", recipe())
    assert models.prepare_builtin("tiny", tmp_path).made
    assert names(half) == ["genenv-model.json", "weights"]


def test_a_failure_leaves_nothing_behind(tmp_path: Path, monkeypatch) -> None:
    def write(folder: Path) -> None:
        (folder / "weights").write_text("half")
        raise OSError("disk full")

    monkeypatch.setitem(models._RECIPES, "tiny", models._Recipe(1, "test", write))
    with pytest.raises(OSError, match="disk full"):
        models.prepare_builtin("tiny", tmp_path)
    assert names(tmp_path / "models") == []


def test_two_at_once_end_with_one_folder(tmp_path: Path, monkeypatch) -> None:
    both = threading.Barrier(2)
    monkeypatch.setitem(models._RECIPES, "tiny", recipe(both.wait))
    got: list[models.Prepared] = []
    threads = [
        threading.Thread(target=lambda: got.append(models.prepare_builtin("tiny", tmp_path)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(prepared.made for prepared in got) == [False, True]
    assert names(tmp_path / "models") == ["tiny-v1"]


def test_an_unknown_name_is_an_error_with_the_names_there_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match='no built-in model "big"') as caught:
        models.prepare_builtin("big", tmp_path)
    assert "smollm2-135m, tiny" in str(caught.value.hint)


def test_smollm2_keeps_its_own_system_prompt_and_adds_a_sum() -> None:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "genenv"
    folder = cache / "models" / "smollm2-135m-v1"
    if not (folder / models.MARKER).is_file():
        pytest.skip("not prepared on this machine, and it takes half a minute")
    assert json.loads((folder / models.MARKER).read_text())["name"] == "smollm2-135m"
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    # Stored in bf16; many CPUs are quicker in fp32.
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    assert json.loads((folder / "config.json").read_text())["dtype"] == "bfloat16"
    assert len(tokenizer) == model.config.vocab_size
    text = tokenizer.apply_chat_template(
        [{"role": "user", "content": "What is 3 + 4?"}], add_generation_prompt=True, tokenize=False
    )
    assert text.startswith("<|im_start|>system\nYou are a helpful AI assistant named SmolLM")
    inputs = tokenizer(text, return_tensors="pt", add_special_tokens=False)
    ids = model.generate(**inputs, max_new_tokens=8, do_sample=False)
    assert "= 7" in tokenizer.decode(ids[0, inputs.input_ids.shape[1] :])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def recipe(before=lambda: None) -> models._Recipe:
    def write(folder: Path) -> None:
        (folder / "weights").write_text("whole")
        before()

    return models._Recipe(1, "test", write)
