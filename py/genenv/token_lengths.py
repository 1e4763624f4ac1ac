"""The ``token-lengths`` job: how long prompts are under a model's chat template."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from genenv.errors import ConfigError


def token_lengths(
    params: dict[str, Any], emit: Callable[[dict[str, Any]], None], stop: threading.Event
) -> dict[str, list[int]]:
    """Count the tokens of each chat, with the assistant's opening.

    Args:
        params: ``model``, a folder or hub id, and ``prompts``, a list of chats.
        emit: unused.
        stop: unused; a batch takes a moment.

    Returns:
        ``lengths``: the tokens of each chat, in order.

    Raises:
        ConfigError: the model's tokenizer has no chat template.
    """
    tokenizer = _tokenizer(params["model"])
    if not tokenizer.chat_template:
        raise ConfigError(
            f"the tokenizer of {params['model']} has no chat template",
            code="no-chat-template",
            hint="use an instruct model, or add chat_template.jinja to the model's folder",
        )
    chats = params["prompts"]
    if not chats:
        return {"lengths": []}
    texts = tokenizer.apply_chat_template(chats, add_generation_prompt=True, tokenize=False)
    encoded = tokenizer(texts, add_special_tokens=False)["input_ids"]
    return {"lengths": [len(ids) for ids in encoded]}


@lru_cache(maxsize=2)
def _tokenizer(model: str) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(model)
