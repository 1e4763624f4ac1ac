"""Scoring on all nodes of a cluster: every row once, whatever becomes of a node meanwhile."""

from __future__ import annotations

import os
import socket
import tempfile
from pathlib import Path
from typing import Any

import pytest
from genenv.errors import HookError, WorkerError
from genenv.hook_nodes import NodeHooks, _is_loss, _piece_rows, sweep
from genenv.hooks import ScoreResult
from ray.exceptions import ActorDiedError


class Answer:
    def __init__(self, value: Any) -> None:
        self.value = value


class FakeRay:
    """Answers in the order of the calls."""

    def wait(self, waiting: list[Answer], **_: Any) -> tuple[list[Answer], list[Answer]]:
        return waiting[:1], waiting[1:]

    def get(self, answer: Answer) -> Any:
        if isinstance(answer.value, Exception):
            raise answer.value
        return answer.value


class Node:
    """Scores a response with its length; dies at its ``dies_at``-th call."""

    def __init__(self, dies_at: int | None = None, error: Exception | None = None) -> None:
        self.pieces: list[list[str]] = []
        self._dies_at = dies_at
        self._error = error or ActorDiedError()
        self.score = self

    def remote(self, columns: dict[str, Any]) -> Answer:
        self.pieces.append(columns["responses"])
        if self._dies_at is not None and len(self.pieces) >= self._dies_at:
            return Answer(self._error)
        return Answer([ScoreResult("score", float(len(r))) for r in columns["responses"]])


@pytest.fixture(autouse=True)
def _ray(monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    fake = FakeRay()
    monkeypatch.setattr(ray, "wait", fake.wait)
    monkeypatch.setattr(ray, "get", fake.get)


def scored(hooks: NodeHooks, responses: list[str]) -> list[float | None]:
    results = hooks.score(responses, ["1"] * len(responses), ["t"] * len(responses))
    return [result.value for result in results]


RESPONSES = ["x" * n for n in range(1, 41)]
LENGTHS = [float(n) for n in range(1, 41)]


def test_every_node_gets_a_share_and_the_rows_keep_their_order() -> None:
    a, b = Node(), Node()
    assert scored(NodeHooks({"a": a, "b": b}), RESPONSES) == LENGTHS
    assert a.pieces
    assert b.pieces
    rows = [row for piece in a.pieces + b.pieces for row in piece]
    assert sorted(rows) == sorted(RESPONSES)


def test_a_lost_nodes_rows_are_scored_by_the_others_and_none_is_kept_twice() -> None:
    a, b = Node(), Node(dies_at=1)
    hooks = NodeHooks({"a": a, "b": b})
    assert scored(hooks, RESPONSES) == LENGTHS
    assert hooks.lost == ["b"]
    kept = [row for piece in a.pieces for row in piece]
    assert len(kept) == len(set(kept)) == len(RESPONSES)


def test_a_host_that_is_given_up_counts_as_lost() -> None:
    gone = HookError("lost 8 times in one call", code="hook-host-died")
    hooks = NodeHooks({"a": Node(), "b": Node(dies_at=2, error=gone)})
    assert scored(hooks, RESPONSES) == LENGTHS
    assert hooks.lost == ["b"]


def test_what_a_host_says_of_the_batch_is_the_callers_to_know() -> None:
    wrong = HookError('the reward uses "messages", and this batch has none', code="missing-column")
    hooks = NodeHooks({"a": Node(dies_at=1, error=wrong)})
    with pytest.raises(HookError, match="uses"):
        scored(hooks, RESPONSES)
    assert hooks.lost == []


def test_without_a_node_the_error_says_who_was_lost() -> None:
    hooks = NodeHooks({"a": Node(dies_at=1), "b": Node(dies_at=1)})
    with pytest.raises(HookError, match="lost: a, b") as caught:
        scored(hooks, RESPONSES)
    assert caught.value.code == "hook-nodes-lost"


def test_nothing_to_score_asks_nobody() -> None:
    assert scored(NodeHooks({}), []) == []


@pytest.mark.parametrize(
    ("rows", "nodes", "piece"), [(0, 2, 1), (1, 2, 1), (40, 2, 10), (10_000, 2, 256), (5, 0, 5)]
)
def test_pieces_are_small_enough_to_share_out(rows: int, nodes: int, piece: int) -> None:
    assert _piece_rows(rows, nodes) == piece


def test_a_bug_is_no_loss() -> None:
    assert not _is_loss(ValueError("a bug"))
    assert _is_loss(ActorDiedError())


def test_a_node_whose_hooks_do_not_start_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    class Actor:
        rows_scored = close = score = None

        def __init__(self) -> None:
            self.rows_scored = self.close = self.score = self

        def options(self, **_: Any) -> Actor:
            return self

        def remote(self, *_: Any) -> Any:
            return self

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("this node has no Node.js on its PATH")

    node = {"Alive": True, "NodeID": "ab" * 28, "NodeManagerAddress": "10.0.0.2"}
    monkeypatch.setattr(ray, "nodes", lambda: [node])
    monkeypatch.setattr(ray, "remote", lambda **_: lambda _kind: Actor())
    monkeypatch.setattr(ray, "get", fail)
    monkeypatch.setattr(ray, "kill", lambda _actor: None)
    with pytest.raises(WorkerError, match=r"node 10\.0\.0\.2: .*no Node\.js") as caught:
        NodeHooks.start("run", {})
    assert caught.value.code == "hook-node"


def test_what_a_killed_node_left_is_swept_and_what_lives_or_is_young_stays() -> None:
    with (
        tempfile.TemporaryDirectory(dir="/tmp") as parent,
        socket.socket(socket.AF_UNIX) as living,
        socket.socket(socket.AF_UNIX) as killed,
    ):
        names = ("genenv-hooks-living", "genenv-hooks-killed", "genenv-hooks-empty", "others")
        folders = {name: Path(parent, name) for name in (*names, "genenv-hooks-young")}
        for folder in folders.values():
            folder.mkdir()
        for name, sock in (("living", living), ("killed", killed)):
            sock.bind(str(folders[f"genenv-hooks-{name}"] / "hooks.sock"))
        living.listen()
        for name in names:
            os.utime(folders[name], (0, 0))
        sweep(Path(parent))
        left = {path.name for path in Path(parent).iterdir()}
        assert left == {"genenv-hooks-living", "genenv-hooks-young", "others"}
