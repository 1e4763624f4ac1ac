"""How long prompts are in tokens, counted by a process that never loads torch.

transformers offers its tokenizers without torch too. With it, its import takes six seconds in
place of one, and the control process may still need a transformers that knows torch.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from genenv.errors import ConfigError, DataError, WorkerError

Chat = Sequence[dict[str, str]]
_SHOWN = 200


class TokenCounter:
    """A process that counts tokens; it loads its libraries while the caller does other things."""

    def __init__(self, *, with_torch: bool = False) -> None:
        """``with_torch`` is for tokenizers with code of their own, which may ask for it."""
        self._pool = ProcessPoolExecutor(
            max_workers=1,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_load_libraries if with_torch else _load_without_torch,
        )
        self._pool.submit(_is_ready)

    def __enter__(self) -> TokenCounter:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def lengths(
        self,
        model: str,
        chats: Sequence[Chat],
        *,
        trust_remote_code: bool = False,
        template: dict[str, Any] | None = None,
    ) -> list[int]:
        """Tokens of each chat, with the assistant's opening, in order.

        Args:
            model: a folder or hub id with a tokenizer.
            chats: lists of messages.
            trust_remote_code: whether the tokenizer may run code that comes with it.
            template: further variables of the chat template.

        Raises:
            ConfigError: the tokenizer can't be loaded, or has no chat template.
            DataError: the template refuses a chat.
        """
        job = self._pool.submit(_lengths, model, list(chats), trust_remote_code, template or {})
        try:
            return job.result()
        except BrokenProcessPool as error:
            raise WorkerError(
                "the process that counts the prompts' tokens died",
                code="worker-died",
                hint="look for a lack of memory; its last words are in logs/python.log",
            ) from error


def token_lengths(
    params: dict[str, Any], emit: Callable[[dict[str, Any]], None], stop: threading.Event
) -> dict[str, list[int]]:
    """The ``token-lengths`` job: ``lengths`` of ``prompts``, chats, under a ``model``'s template.

    Raises:
        ConfigError: the tokenizer can't be loaded, or has no chat template.
        DataError: the template refuses a chat.
    """
    return {"lengths": _counter().lengths(params["model"], params["prompts"])}


@functools.cache
def _counter() -> TokenCounter:
    """Kept for the next batch; it ends with this process."""
    return TokenCounter()


def _is_ready() -> None:
    """Runs when the libraries are loaded."""


def _load_without_torch() -> None:
    # An import that finds None here fails as where the package isn't installed.
    sys.modules["torch"] = None  # type: ignore[assignment]
    # transformers would say that models can't be had.
    os.environ["TRANSFORMERS_NO_ADVISORY_WARNINGS"] = "1"
    _load_libraries()


def _load_libraries() -> None:
    from transformers import AutoTokenizer  # noqa: F401


def _lengths(
    model: str, chats: list[Chat], trust_remote_code: bool, template: dict[str, Any]
) -> list[int]:
    tokenizer = _tokenizer(model, trust_remote_code)
    if not tokenizer.chat_template:
        raise ConfigError(
            f"the tokenizer of {model} has no chat template",
            code="no-chat-template",
            hint="use an instruct model, or add chat_template.jinja to the model's folder",
        )
    if not chats:
        return []
    texts = [_render(tokenizer, chat, template) for chat in chats]
    return [len(ids) for ids in tokenizer(texts, add_special_tokens=False)["input_ids"]]


def _render(tokenizer: Any, chat: Chat, template: dict[str, Any]) -> str:
    try:
        return tokenizer.apply_chat_template(
            chat, add_generation_prompt=True, tokenize=False, **template
        )
    except Exception as error:
        raise DataError(
            f"the model's chat template refuses the prompt {str(chat)[:_SHOWN]}: {error}",
            code="chat-template",
            hint="some templates take no system message, or want roles to alternate",
        ) from error


@functools.lru_cache(maxsize=2)
def _tokenizer(model: str, trust_remote_code: bool) -> Any:
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(model, trust_remote_code=trust_remote_code)
    except Exception as error:
        raise ConfigError(
            f"the tokenizer of {model} can't be loaded: {error}",
            code="not-a-model",
            hint="the folder needs tokenizer.json, or what the model's own tokenizer reads",
        ) from error
