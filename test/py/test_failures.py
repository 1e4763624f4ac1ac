"""Hooks that fail: when a run goes on, when it stops, and what is saved then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from genenv.errors import HookError
from genenv.hooks import Accepted, Rejected, ScoreResult
from genenv.loop.python_reward import PythonReward
from loop_world import World, WorldClient

THREW = ScoreResult("failed", code="threw", reason="TypeError: x\n    at reward.ts:3:1")


class Failing(WorldClient):
    """From a number of batches on, the first row of each fails."""

    def __init__(self, *, from_batch: int = 0, parses: bool = True) -> None:
        super().__init__()
        self._left = from_batch
        self._parses = parses

    def score(self, responses: list[str], *args: Any, **more: Any) -> list[ScoreResult]:
        results = super().score(responses, *args, **more)
        self._left -= 1
        return [THREW, *results[1:]] if self._left < 0 else results

    def parse(self, answers: list[str], seeds: list[Any]) -> list[list[Accepted | Rejected]]:
        parsed = super().parse(answers, seeds)
        if not self._parses:
            parsed[0] = [Rejected("failed: threw: TypeError\n  at env.ts:1", "threw")]
        return parsed


def hooks(on_failure: str, rate: float) -> dict[str, Any]:
    return {"on_failure": on_failure, "max_failure_rate": rate, "scoring": "batch"}


def world_with(folder: Path, client: WorldClient, on_failure: str, rate: float = 1.0) -> World:
    world = World(folder, hooks=hooks(on_failure, rate))
    world.client = client
    return world


def test_abstain_leaves_a_failure_out_counts_it_and_goes_on(tmp_path: Path) -> None:
    world = world_with(tmp_path, Failing(), "abstain")
    assert world.run(2, val_before_train=False)["epochs"] == 2
    agent = [line for line in world.metrics() if line["phase"] == "agent"]
    assert [line["agent/failed/threw"] for line in agent] == [1.0, 1.0]
    failed = [r for r in world.rollouts()["epoch-000001.parquet"] if r["failure"]]
    assert [(r["score"], r["failure"], r["reason"]) for r in failed] == [
        (None, "threw", THREW.reason)
    ]


def test_zero_makes_it_a_zero_that_is_counted_all_the_same(tmp_path: Path) -> None:
    world = world_with(tmp_path, Failing(), "zero")
    world.run(1, val_before_train=False)
    (failed,) = (r for r in world.rollouts()["epoch-000001.parquet"] if r["failure"])
    assert (failed["score"], failed["success"], failed["failure"]) == (0.0, False, "threw")
    assert world.metrics()[0]["agent/failed/threw"] == 1.0


@pytest.mark.parametrize(("on_failure", "rate"), [("stop", 1.0), ("abstain", 0.02)])
def test_a_stop_saves_what_was_learnt_before_and_the_run_goes_on_from_there(
    tmp_path: Path, on_failure: str, rate: float
) -> None:
    # One batch is scored before the first epoch, then two an epoch with its validation.
    world = world_with(tmp_path, Failing(from_batch=3), on_failure, rate)
    with pytest.raises(HookError, match=r"reward\.ts:3:1"):
        world.run(3, save_freq=-1)
    assert [p.name for p in sorted((tmp_path / "checkpoints").glob("epoch-*"))] == ["epoch-1"]
    # The responses over which it failed are there for `genenv score --run`.
    assert "epoch-000002.parquet" in world.rollouts()
    world.client = WorldClient()
    assert world.run(3, resume=True)["epochs"] == 3
    whole = World(tmp_path / "whole", hooks=hooks(on_failure, rate))
    whole.run(3)
    assert world.rollouts() == whole.rollouts()


def test_a_failure_in_the_validation_stops_too_with_the_epoch_saved(tmp_path: Path) -> None:
    world = world_with(tmp_path, Failing(from_batch=2), "stop")
    with pytest.raises(HookError) as caught:
        world.run(3, save_freq=-1)
    assert caught.value.code == "hook-failed"
    assert (tmp_path / "checkpoints" / "epoch-1").is_dir()


def test_a_parse_hook_that_fails_is_counted_by_its_code_and_kept_in_full(tmp_path: Path) -> None:
    world = world_with(tmp_path, Failing(from_batch=99, parses=False), "abstain")
    world.run(1)
    (line,) = (m for m in world.metrics() if m["phase"] == "environment")
    assert line["env/rejected/failed: threw"] == 1.0
    assert "failed: threw: TypeError\n  at env.ts:1" in {r["reason"] for r in world.ledger()}


@pytest.mark.parametrize(("on_failure", "rate"), [("stop", 1.0), ("abstain", 0.1)])
def test_a_parse_hook_that_fails_too_often_stops_the_run(
    tmp_path: Path, on_failure: str, rate: float
) -> None:
    world = world_with(tmp_path, Failing(from_batch=99, parses=False), on_failure, rate)
    with pytest.raises(
        HookError, match=r"1 of 6 parsed answers failed.*: threw: TypeError\n  at env\.ts:1"
    ):
        world.run(1)


def test_the_first_failure_of_each_kind_of_a_python_reward_is_told_with_its_line() -> None:
    def compute_score(solution_str: str, **_: Any) -> Any:
        return {"a": 1.0, "b": "no"}.get(solution_str) or 1 / 0

    told: list[tuple[str, str]] = []
    reward = PythonReward(compute_score, {})
    reward.warn = lambda code, message: told.append((code, message))
    for _ in range(2):
        reward.score(["a", "b", "c", "c"], ["1"] * 4, ["t"] * 4)
    assert [code for code, _ in told] == ["hook-bad-result", "hook-threw"]
    line = compute_score.__code__.co_firstlineno + 1
    assert told[1][1].endswith(f"ZeroDivisionError('division by zero')\n    at {__file__}:{line}")
