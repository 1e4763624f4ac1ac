"""Scoring while others still generate: micro-batches, and the way of a result to the loop."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from genenv.errors import HookError
from genenv.hooks import ScoreResult
from genenv.loop.overlap import (
    FIELD,
    hooks_environment,
    hooks_of_environment,
    results_of,
    score_trajectories,
    task_texts,
    told_score,
)
from genenv.micro_batch import MicroBatcher
from loop_fakes import FakeClient, failed, make_task, scored

# -- micro-batches ---------------------------------------------------------------------------------


def test_what_arrives_together_goes_out_together_and_each_gets_its_own_result() -> None:
    batches: list[list[int]] = []

    def work(_lane: int, items: Sequence[int]) -> list[int]:
        batches.append(list(items))
        return [item * item for item in items]

    async def run() -> list[int]:
        batcher = MicroBatcher(work, lanes=1, max_rows=8)
        return await asyncio.gather(*(batcher.submit(i) for i in range(20)))

    assert asyncio.run(run()) == [i * i for i in range(20)]
    assert [len(batch) for batch in batches] == [8, 8, 4]


def test_what_arrives_while_a_call_is_under_way_waits_for_the_next() -> None:
    batches: list[int] = []
    go = threading.Event()

    def work(_lane: int, items: Sequence[int]) -> Sequence[int]:
        batches.append(len(items))
        go.wait(5)
        return items

    async def run() -> None:
        batcher = MicroBatcher(work, lanes=1, max_rows=100)
        first = asyncio.ensure_future(batcher.submit(0))
        await asyncio.sleep(0.05)
        rest = [asyncio.ensure_future(batcher.submit(i)) for i in range(7)]
        await asyncio.sleep(0.05)
        go.set()
        await asyncio.gather(first, *rest)

    asyncio.run(run())
    assert batches == [1, 7]


def test_lanes_share_what_waits_and_work_at_once() -> None:
    under_way, most, lock = 0, 0, threading.Lock()
    lanes: set[int] = set()

    def work(lane: int, items: Sequence[int]) -> Sequence[int]:
        nonlocal under_way, most
        with lock:
            lanes.add(lane)
            under_way += 1
            most = max(most, under_way)
        time.sleep(0.05)
        with lock:
            under_way -= 1
        return items

    async def run() -> None:
        batcher = MicroBatcher(work, lanes=3, max_rows=100)
        await asyncio.gather(*(batcher.submit(i) for i in range(9)))

    asyncio.run(run())
    assert (most, lanes) == (3, {0, 1, 2})


def test_an_error_is_that_of_its_batch_alone() -> None:
    def work(_lane: int, items: Sequence[int]) -> Sequence[int]:
        if 2 in items:
            raise ValueError("two")
        return items

    async def run() -> list[Any]:
        batcher = MicroBatcher(work, lanes=1, max_rows=2)
        waits = (batcher.submit(i) for i in range(6))
        return await asyncio.gather(*waits, return_exceptions=True)

    got = asyncio.run(run())
    assert [str(each) for each in got] == ["0", "1", "two", "two", "4", "5"]


# -- a result's way --------------------------------------------------------------------------------


def test_a_reward_worker_sees_of_a_task_what_the_reward_uses_and_no_more() -> None:
    task = make_task("t-1", "1 + 1", extra={"level": 2}, data_source="sums")
    client = FakeClient({"2": scored(1.0)})
    (text,) = task_texts([task], ["extra"])
    assert json.loads(text) == {"id": "t-1", "groundTruth": "7", "extra": {"level": 2}}
    assert score_trajectories(client, ["2"], [text]) == [scored(1.0)]
    assert client.asked == [
        {
            "ground_truths": ["7"],
            "task_ids": ["t-1"],
            "messages": None,
            "data_sources": None,
            "extras": [{"level": 2}],
        }
    ]


def told(result: ScoreResult) -> dict[str, Any]:
    text = json.dumps({name: getattr(result, name) for name in ScoreResult.__dataclass_fields__})
    return {"score": told_score({"reward_extra_info": {"length": 1.0, FIELD: text}})}


def test_scores_abstentions_and_failures_come_through_as_they_are() -> None:
    results = [
        scored(0.5, True, parts=0.25),
        ScoreResult("abstain", reason="can't tell"),
        failed("timeout", "too slow"),
    ]
    assert results_of([told(result) for result in results]) == results


def test_a_worker_that_lost_the_hook_plane_ends_the_run_with_its_words() -> None:
    lost = {"error": {"code": "hook-host-died", "message": "lost 8 times", "hint": None}}
    row = {"score": told_score({"reward_extra_info": {FIELD: json.dumps(lost)}})}
    with pytest.raises(HookError, match="lost 8 times") as caught:
        results_of([told(scored(1.0)), row])
    assert caught.value.code == "hook-host-died"


def test_a_response_without_a_result_is_never_a_zero() -> None:
    assert told_score({}) is None
    with pytest.raises(HookError, match="without its score"):
        results_of([{"text": "3"}])


def test_a_node_that_does_not_reach_the_hooks_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in hooks_environment(f"unix:{tmp_path}/none", None, None).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(HookError, match="doesn't reach the run's hooks"):
        hooks_of_environment()
    monkeypatch.delenv("GENENV_HOOKS")
    with pytest.raises(HookError, match="at no address"):
        hooks_of_environment()


def test_where_every_node_has_its_hooks_a_reward_worker_asks_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("genenv.loop.overlap._own_node", lambda: "feedc0ffee123456")
    for name, value in hooks_environment("unix:/driver.sock", None, None, "run1").items():
        monkeypatch.setenv(name, value)
    channel = hooks_of_environment()._channel
    assert channel._address == "unix:/tmp/genenv-hooks-run1-feedc0ffee12/hooks.sock"
