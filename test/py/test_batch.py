"""Who gets the places of an agent batch, and what becomes of those that get none."""

from __future__ import annotations

import random
from typing import Any

import pytest
from genenv.loop.batch import Batch, fill_batch, in_turn
from genenv.loop.generation import Answer
from genenv.loop.pool import Pool
from genenv.loop.state import LoopState
from genenv.loop.tasks import Task
from loop_fakes import make_task, row, seed_task

SEEDS = [seed_task(i) for i in range(20)]


def answer(number: int, *tasks: str) -> Answer:
    made = tuple(make_task(name, f"write {name}", epoch=3) for name in tasks)
    return Answer(f"a{number}", row(0, f"t{number}"), 0, (), made)


def state(*, pool: int = 0, waiting: tuple[str, ...] = ()) -> LoopState:
    made = LoopState(Pool(cap=50), random.Random(0))
    for i in range(pool):
        made.pool.add(make_task(f"p{i}", f"pooled {i}"), 1.0, 0.5, 1)
    made.waiting = [make_task(name, f"write {name}", epoch=2) for name in waiting]
    return made


def fill(
    answers: list[Answer], of: LoopState, size: int = 8, fraction: float = 0.5, **more: Any
) -> Batch:
    return fill_batch(answers, of, more.get("seeds", SEEDS), size=size, seed_fraction=fraction)


def ids(tasks: list[Task]) -> list[str]:
    return [task.id for task in tasks]


def test_every_answer_has_a_task_tried_before_any_has_two() -> None:
    answers = [answer(0, "a", "b", "c"), answer(1), answer(2, "d", "e")]
    assert ids(in_turn(answers)) == ["a", "d", "b", "e", "c"]
    assert ids(fill(answers, state(), size=2).tasks) == ["a", "d"]


def test_new_tasks_come_first_then_those_that_waited_then_pool_and_data() -> None:
    batch = fill([answer(0, "a", "b")], state(pool=9, waiting=("w",)))
    assert ids(batch.tasks)[:3] == ["a", "b", "w"]
    # Five places are left: round(2.5) = 2 for data, 3 for the pool.
    assert batch.mix == {"new": 2, "waiting": 1, "pool": 3, "seed": 2}
    assert (batch.waiting, batch.dropped) == ([], [])


def test_a_pool_with_too_few_leaves_its_places_to_data() -> None:
    batch = fill([], state(pool=1), fraction=0.0)
    assert batch.mix == {"new": 0, "waiting": 0, "pool": 1, "seed": 7}


@pytest.mark.parametrize(("fraction", "pool", "seed"), [(0.0, 8, 0), (1.0, 0, 8), (0.25, 6, 2)])
def test_data_and_pool_share_the_places_as_configured(
    fraction: float, pool: int, seed: int
) -> None:
    mix = fill([], state(pool=20), fraction=fraction).mix
    assert (mix["pool"], mix["seed"]) == (pool, seed)


def test_no_valid_task_at_all_never_starves_a_batch() -> None:
    batch = fill([answer(0), answer(1)], state(), seeds=SEEDS[:3])
    assert len(batch.tasks) == 8
    assert batch.mix == {"new": 0, "waiting": 0, "pool": 0, "seed": 8}


def test_tasks_without_a_place_wait_for_the_next_epoch() -> None:
    of = state()
    first = fill([answer(0, "a", "b"), answer(1, "c")], of, size=2)
    assert (ids(first.tasks), ids(first.waiting)) == (["a", "c"], ["b"])
    of.waiting = first.waiting
    second = fill([answer(2, "d")], of, size=3, fraction=1.0)
    assert ids(second.tasks)[:2] == ["d", "b"]
    assert second.waiting == []


def test_of_too_many_that_wait_the_newest_stay_and_the_rest_is_told() -> None:
    of = state(waiting=("w1", "w2"))
    batch = fill([answer(0, "a", "b", "c")], of, size=2)
    assert (ids(batch.tasks), ids(batch.waiting)) == (["a", "b"], ["w2", "c"])
    assert [(task.id, why) for task, why in batch.dropped] == [("w1", "batch-full")]


def test_a_waiting_task_that_was_written_anew_gives_way() -> None:
    batch = fill([answer(0, "same")], state(waiting=("same", "other")), size=2)
    assert ids(batch.tasks) == ["same", "other"]
    assert batch.tasks[0].epoch == 3
    assert [(task.id, task.epoch, why) for task, why in batch.dropped] == [("same", 2, "duplicate")]


def test_no_prompt_of_a_new_task_is_drawn_from_pool_or_data_too() -> None:
    of = state(pool=3)
    copies = [make_task("x", "POOLED 1"), make_task("y", "Question  5")]
    batch = fill([Answer("a", row(0, "t"), 0, (), tuple(copies))], of, size=22, fraction=0.5)
    assert not {"p1", "seed-5"} & set(ids(batch.tasks))
    assert len(set(ids(batch.tasks))) == len(batch.tasks)


def test_filling_twice_from_one_state_gives_one_batch() -> None:
    answers = [answer(0, "a"), answer(1, "b")]
    one, other = (fill(answers, state(pool=9, waiting=("w",))) for _ in range(2))
    assert one == other
