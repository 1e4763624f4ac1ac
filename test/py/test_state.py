"""The loop's state: draws that follow from the seed, and that go on where a checkpoint left off."""

from __future__ import annotations

import json
import random
from collections import Counter

import pytest
from genenv.loop.pool import Pool
from genenv.loop.state import LoopState
from loop_fakes import make_task, seed_task

TASKS = [seed_task(i) for i in range(5)]


def new_state(seed: int = 7) -> LoopState:
    return LoopState(Pool(cap=10), random.Random(seed))


def draw(
    state: LoopState, count: int, without: set[str] | None = None, tasks: int = 5
) -> list[str]:
    return [task.id for task in state.next_seeds(TASKS[:tasks], count, without or set())]


def test_the_same_seed_draws_the_same_tasks_and_another_seed_others() -> None:
    first = [draw(new_state(7), 3) for _ in range(2)]
    assert first[0] == first[1]
    assert len({tuple(draw(new_state(seed), 5)) for seed in range(10)}) > 5


def test_a_pass_shows_every_task_once_before_any_comes_again() -> None:
    state = new_state()
    drawn = [task for _ in range(5) for task in draw(state, 2)]
    assert Counter(drawn[:5]) == Counter(task.id for task in TASKS)
    assert Counter(drawn) == Counter({task.id: 2 for task in TASKS})


def test_a_batch_over_the_end_of_a_pass_holds_no_task_twice() -> None:
    for seed in range(50):
        state = new_state(seed)
        for _ in range(20):
            batch = draw(state, 3)
            assert len(set(batch)) == 3


def test_a_task_that_is_taken_already_waits_for_a_later_batch() -> None:
    state = new_state()
    first = draw(state, 3, without={"seed-0", "seed-1"})
    assert sorted(first) == ["seed-2", "seed-3", "seed-4"]
    assert sorted(draw(state, 2)) == ["seed-0", "seed-1"]


def test_a_batch_with_more_places_than_tasks_holds_each_before_any_twice() -> None:
    counts = Counter(draw(new_state(), 7, tasks=3))
    assert sorted(counts.values()) == [2, 2, 3]


def test_the_order_does_not_grow_where_batches_are_larger_than_the_data() -> None:
    state = new_state()
    for _ in range(100):
        counts = Counter(draw(state, 7, tasks=3))
        assert sorted(counts.values()) == [2, 2, 3]
        assert len(state.order) <= 6


def test_no_places_draw_nothing_and_leave_the_generator_alone() -> None:
    state = new_state()
    assert draw(state, 0) == []
    assert state.generator.random() == random.Random(7).random()


def test_a_state_that_went_through_json_draws_what_the_first_would_have() -> None:
    state = new_state()
    state.epoch, state.step, state.ledger_rows = 3, 4, 20
    state.success_rates["seed-1"] = 0.25
    state.pool.add(make_task("e1-a0-t0", "new"), 0.5, 0.5, 1)
    state.waiting = [make_task("e2-a0-t1", "later", parent_seeds=("seed-1",), epoch=2)]
    state.generator.gauss(0, 1)  # leaves half of a pair in the generator
    draw(state, 3)

    restored = new_state(seed=999)
    restored.load_json(json.loads(json.dumps(state.to_json(), allow_nan=False)))
    restored.pool.load_lines(list(state.pool.to_lines()))

    assert restored.to_json() == state.to_json()
    assert (restored.epoch, restored.step, restored.ledger_rows) == (3, 4, 20)
    assert restored.success_rates == {"seed-1": 0.25}
    assert restored.waiting == state.waiting
    for _ in range(4):
        assert draw(restored, 3) == draw(state, 3)
        assert restored.generator.gauss(0, 1) == state.generator.gauss(0, 1)
    assert restored.pool.draw(1, restored.generator) == state.pool.draw(1, state.generator)


def test_what_was_taken_as_json_does_not_change_with_the_state() -> None:
    state = new_state()
    draw(state, 1)
    before = state.to_json()
    kept = json.dumps(before)
    draw(state, 3)
    state.success_rates["seed-0"] = 1.0
    assert json.dumps(before) == kept


def test_a_state_without_a_part_is_refused() -> None:
    saved = new_state().to_json()
    del saved["random"]
    with pytest.raises(KeyError, match="random"):
        new_state().load_json(saved)
