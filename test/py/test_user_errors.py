"""Errors of the Python side that a user can cause: code, words and next step."""

import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from genenv import wire
from genenv.cluster import start_local
from genenv.errors import DataError, HookError, WorkerError
from genenv.hook_channel import HookChannel
from genenv.wire import Header, Kind, Op


def test_ray_that_cannot_start_says_what_ray_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import ray

    def refuse(**_: Any) -> None:
        raise RuntimeError("port 6379 is in use")

    monkeypatch.setattr(ray, "init", refuse)
    with pytest.raises(WorkerError) as caught:
        start_local(tmp_path, {}, None, 1)
    assert caught.value.code == "ray-start"
    assert caught.value.message == "Ray could not start on this machine: port 6379 is in use"
    assert caught.value.hint == "npx genenv doctor checks memory, /dev/shm and ports"


def test_a_hook_host_that_says_nothing_is_given_up(tmp_path: Path) -> None:
    address = str(tmp_path / "hooks.sock")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(address)
        listener.listen(8)
        done = threading.Event()

        def greet_and_no_more() -> None:
            connection, _ = listener.accept()
            header = connection.recv(wire.HEADER_BYTES, socket.MSG_WAITALL)
            hello = wire.decode_header(header, 64)
            connection.sendall(wire.encode_header(Header(Op.HELLO, Kind.REPLY, 0, hello.id, 0)))
            done.wait(10)
            connection.close()

        threading.Thread(target=greet_and_no_more, daemon=True).start()
        with pytest.raises(HookError) as caught:
            HookChannel(f"unix:{address}", None, 0.3).call(Op.DESCRIBE, iter([b""]))
        done.set()
    assert caught.value.code == "hook-host-timeout"
    assert caught.value.message.startswith(
        f"the hook host at unix:{address} gave no answer to describe"
    )
    assert caught.value.hint == "look into logs/hooks.log for what the hooks were doing"


class _Tokenizer:
    chat_template: str | None = "a template"

    def apply_chat_template(self, *_: Any, **__: Any) -> list[int]:
        raise ValueError("roles must alternate")


def _engine(tokenizer: _Tokenizer) -> Any:
    from genenv.engine.engine import Engine

    engine = object.__new__(Engine)
    engine._tokenizer = tokenizer
    return engine


def test_a_template_that_refuses_a_prompt_says_which() -> None:
    with pytest.raises(DataError) as caught:
        _engine(_Tokenizer())._encode_all(["What is 1 + 1?"], raw=False)
    assert caught.value.code == "chat-template"
    assert caught.value.message.startswith("the model's chat template refuses prompt 0 (")
    assert caught.value.message.endswith("): roles must alternate")
    assert caught.value.hint == "some templates take no system message, or want roles to alternate"


def test_a_chat_cannot_be_raw() -> None:
    with pytest.raises(DataError) as caught:
        _engine(_Tokenizer())._encode_all([[{"role": "user", "content": "hi"}]], raw=True)
    assert caught.value.code == "raw-chat"
    assert caught.value.message == "prompt 0 is a chat, and raw prompts are texts"
    assert caught.value.hint == "give a text, or leave raw out"


def test_numbers_that_are_not_finite_are_named_and_left_out(tmp_path: Path) -> None:
    from genenv.loop.events import Progress

    events: list[dict[str, Any]] = []
    progress = Progress(events.append, tmp_path / "metrics.jsonl")
    progress.metrics("agent", {"actor/grad_norm": float("nan"), "agent/reward_mean": 0.5})
    warning, metrics = events
    assert warning["code"] == "number-not-finite"
    assert warning["message"] == "these numbers are not finite and left out: actor/grad_norm"
    assert metrics["values"] == {"agent/reward_mean": 0.5}


def test_a_response_without_its_score_ends_the_batch() -> None:
    from genenv.loop.overlap import results_of

    with pytest.raises(HookError) as caught:
        results_of([{"score": None}])
    assert caught.value.code == "score-missing"
    assert caught.value.message == "a response came out of the rollout without its score"
    assert caught.value.hint == "see logs/agent.log, or take genenv.hooks.scoring=batch"
