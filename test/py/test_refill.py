"""Groups without signal: left out, and refilled from the pool and the data within a bound."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from genenv.hooks import ScoreResult
from genenv.loop import refill
from genenv.loop.pool import Pool
from genenv.loop.scoring import Group
from genenv.loop.state import LoopState
from genenv.loop.tasks import Task
from loop_world import World, WorldClient


def task(name: str, source: Any = "seed") -> Task:
    return Task(name, source, [{"role": "user", "content": name}], "1", {})


def group(*values: float | None, successes: list[bool | None] | None = None) -> Group:
    scores = [
        ScoreResult("abstain", reason="no") if v is None else ScoreResult("score", v, None, {})
        for v in values
    ]
    rows = [{"key": str(i), "tag": {}} for i in range(len(values))]
    known = successes or [None if v is None else v >= 1 for v in values]
    return Group(task("t"), rows, scores, known)


def test_a_group_has_signal_where_rewards_or_successes_differ() -> None:
    partial = group(0.2, 0.4)
    assert (refill.has_signal(partial, "reward"), refill.has_signal(partial, "acc")) == (
        True,
        False,
    )
    assert refill.has_signal(group(0.0, 1.0), "acc")
    assert not refill.has_signal(group(1.0, 1.0, None), "reward")
    assert not refill.has_signal(group(None, 1.0), "acc"), "an abstention is no failure"


def test_the_first_groups_with_signal_make_the_batch() -> None:
    dull, first, second, third = group(1.0, 1.0), group(0.0, 1.0), group(1.0, 0.0), group(0.0, 1.0)
    groups = [dull, first, second, third]
    assert refill.take(groups, 2, "reward") == [first, second]
    assert [refill.missing(groups, size, "reward") for size in (2, 3, 5)] == [0, 0, 2]


def state_with(*pooled: str) -> LoopState:
    state = LoopState(Pool(10), random.Random(1))
    for name in pooled:
        state.pool.add(task(name, "environment"), 1.0, 0.5, 1)
    return state


def test_the_draw_takes_no_task_that_was_tried() -> None:
    seeds = [task(f"s{i}") for i in range(4)]
    tried = [seeds[0], task("p0", "environment")]
    drawn = refill.draw(tried, state_with("p0", "p1"), seeds, count=4, seed_fraction=0.5)
    assert sorted(one.id for one in drawn) == ["p1", "s1", "s2", "s3"]


def test_the_draw_is_short_or_empty_where_all_was_tried() -> None:
    seeds = [task("s0"), task("s1")]
    state = state_with()
    assert [t.id for t in refill.draw(seeds[:1], state, seeds, count=5, seed_fraction=1.0)] == [
        "s1"
    ]
    assert refill.draw(seeds, state, seeds, count=5, seed_fraction=1.0) == []


class Even(WorldClient):
    """Seed tasks with an odd number have no signal, all others differ."""

    def score(
        self, responses: list[str], ground_truths: list[Any], task_ids: list[str], **_: Any
    ) -> list[ScoreResult]:
        seen: dict[str, int] = {}
        results = []
        for name in task_ids:
            seen[name] = seen.get(name, 0) + 1
            odd = name.startswith("seed") and int(name.split("-")[1]) % 2 == 1
            results.append(ScoreResult("score", 1.0 if odd else float(seen[name] % 2), None, {}))
        return results


def world_of(folder: Path, **filter_groups: Any) -> World:
    world = World(folder, plain=True)
    world.client = Even()
    world.batch_size = 4
    world.filter_groups = {"enable": True} | filter_groups
    return world


def test_groups_without_signal_are_refilled_from_tasks_not_yet_tried(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    world.run(1)
    tried = [row for row in world.ledger() if row["epoch"] == 1]
    assert len({row["task"] for row in tried}) == len(tried) > 4
    trained = [row for row in tried if row["trained"]]
    assert len(trained) == 4
    assert all(int(row["task"].split("-")[1]) % 2 == 0 for row in trained)
    # Those that were only tried have their p-hat all the same.
    assert {row["success_rate"] for row in tried if not row["trained"]} >= {1.0}
    ((keys, _, _),) = world.roles["agent"].updates
    assert len(keys) == 4 * 4
    assert len(world.roles["agent"].forgotten) == 4 * (len(tried) - 4)


def test_the_bound_ends_the_refill_with_a_warning_and_a_smaller_batch(tmp_path: Path) -> None:
    world = world_of(tmp_path, max_num_gen_batches=1)
    world.run(1)
    tried = world.ledger()
    assert len(tried) == 4
    dull = sum(int(row["task"].split("-")[1]) % 2 for row in tried)
    (warning,) = [e for e in world.events if e.get("code") == "few-groups"]
    assert warning["message"] == (
        f"{dull} of 4 groups still have no signal after 4 tasks were tried"
    )
    ((keys, _, _),) = world.roles["agent"].updates
    assert len(keys) == 4 * (4 - dull)


def test_data_without_any_signal_ends_when_all_of_it_was_tried(tmp_path: Path) -> None:
    class Solved(WorldClient):
        def score(self, responses: list[str], *_: Any, **__: Any) -> list[ScoreResult]:
            return [ScoreResult("score", 1.0, None, {}) for _ in responses]

    world = world_of(tmp_path)
    world.client = Solved()
    world.run(1)
    assert len(world.ledger()) == 9, "each row of the data once"
    assert world.roles["agent"].updates == []
    codes = [e.get("code") for e in world.events if e["type"] == "warning"]
    assert codes == ["few-groups"], "there are scores: they just don't differ"


def test_without_the_key_nothing_is_refilled_or_left_out(tmp_path: Path) -> None:
    world = world_of(tmp_path, enable=False)
    world.run(1)
    assert [row["trained"] for row in world.ledger()] == [True] * 4
