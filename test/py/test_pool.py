"""The task pool: what stays, what leaves, and how often an entry is drawn."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from genenv.loop.pool import Pool
from genenv.loop.tasks import normalise
from loop_fakes import make_task


def filled(**weights: float) -> Pool:
    """A pool of one task a name, with these weights."""
    pool = Pool(cap=100)
    for name, weight in weights.items():
        pool.add(make_task(name, f"prompt {name}"), weight, 0.5, 1)
    return pool


def ids(pool: Pool) -> list[str]:
    return [entry.task.id for entry in pool.entries]


@pytest.mark.parametrize(
    ("one", "other"),
    [("What is  3+4?\n", "what is 3+4?"), ("Ｘ２", "x2"), ("STRASSE", "straße"), ("", " \t")],  # noqa: RUF001
)
def test_prompts_that_differ_in_case_spacing_or_unicode_form_are_one(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


def test_prompts_that_differ_in_a_digit_or_a_sign_are_two() -> None:
    assert len({normalise(text) for text in ("3 + 4", "3 - 4", "3 + 5", "34", "3 4")}) == 5


def test_a_kept_task_is_in_the_pool_under_its_prompt() -> None:
    pool = filled(a=1.0)
    assert len(pool) == 1
    assert make_task("other-id", "PROMPT  a") in pool
    assert make_task("a", "prompt b") not in pool


def test_the_same_prompt_again_renews_the_entry_and_keeps_its_first_task() -> None:
    pool = filled(a=1.0, b=1.0)
    assert pool.add(make_task("later", "Prompt A"), 0.25, 0.75, 3) == []
    entry = next(iter(pool.entries))
    assert (entry.task.id, entry.weight, entry.success_rate) == ("a", 0.25, 0.75)
    assert (entry.last_epoch, entry.times_trained) == (3, 2)
    assert ids(pool) == ["a", "b"]


def test_over_its_cap_the_lightest_entry_leaves_and_of_equals_the_oldest() -> None:
    pool = Pool(cap=2)
    pool.add(make_task("a", "a"), 0.5, 0.5, 1)
    pool.add(make_task("b", "b"), 0.5, 0.5, 1)
    (gone,) = pool.add(make_task("c", "c"), 0.9, 0.5, 2)
    assert gone.task.id == "a"
    (gone,) = pool.add(make_task("d", "d"), 0.1, 0.5, 2)
    assert gone.task.id == "d"
    assert ids(pool) == ["b", "c"]


def test_a_pool_without_places_keeps_nothing() -> None:
    pool = Pool(cap=0)
    (gone,) = pool.add(make_task("a", "a"), 1.0, 0.5, 1)
    assert gone.task.id == "a"
    assert len(pool) == 0


def test_a_retired_task_leaves_and_one_that_was_not_there_is_none() -> None:
    pool = filled(a=1.0)
    gone = pool.retire(make_task("again", "prompt A"))
    assert gone is not None and gone.task.id == "a"
    assert pool.retire(make_task("a", "prompt a")) is None
    assert len(pool) == 0


def test_a_draw_never_gives_an_entry_twice_nor_one_that_is_left_out() -> None:
    pool = filled(a=1.0, b=5.0, c=0.1)
    for seed in range(50):
        drawn = [e.task.id for e in pool.draw(5, random.Random(seed), without={"prompt b"})]
        assert sorted(drawn) == ["a", "c"]


def test_entries_are_drawn_in_proportion_to_their_weights() -> None:
    # 3 : 1. 4000 draws have a standard deviation of sqrt(4000 * 3/16) = 27 around 3000.
    pool = filled(heavy=3.0, light=1.0)
    generator = random.Random(0)
    counts = Counter(pool.draw(1, generator)[0].task.id for _ in range(4000))
    assert abs(counts["heavy"] - 3000) < 5 * 27


def test_an_entry_of_weight_zero_is_drawn_only_when_no_other_is_left() -> None:
    pool = filled(zero=0.0, one=1.0)
    for seed in range(50):
        assert [e.task.id for e in pool.draw(2, random.Random(seed))] == [
            "one",
            "zero",
        ]


def test_entries_of_weight_zero_alone_are_drawn_evenly() -> None:
    pool = filled(a=0.0, b=0.0)
    generator = random.Random(1)
    counts = Counter(pool.draw(1, generator)[0].task.id for _ in range(400))
    assert min(counts.values()) > 150


@pytest.mark.parametrize(("entries", "count"), [(0, 3), (2, 0)])
def test_nothing_is_drawn_from_an_empty_pool_or_for_no_places(entries: int, count: int) -> None:
    pool = filled(**{str(i): 1.0 for i in range(entries)})
    assert pool.draw(count, random.Random(0)) == []


def test_it_goes_through_lines_of_json_and_comes_back_whole() -> None:
    pool = filled(a=0.25, b=2.0)
    pool.add(
        make_task("c", "ünï 3", parent="e1-a0", parent_seeds=("seed-1",), extra={"level": 2}),
        1.0,
        1 / 3,
        4,
    )
    other = Pool(cap=100)
    other.load_lines(list(pool.to_lines()))
    assert list(other.entries) == list(pool.entries)
    assert list(other.entries)[2].task.parent_seeds == ("seed-1",)
    assert make_task("x", "ÜNÏ 3") in other


def test_loading_lines_replaces_what_was_there() -> None:
    pool = filled(a=1.0)
    pool.load_lines([])
    assert len(pool) == 0


# -- near-duplicates, and tasks that are solved ----------------------------------------------------

LONG = "ann has 3 apples and buys 4 more. how many apples has she now?"


def test_a_prompt_that_says_nearly_the_same_is_known_as_another_entrys() -> None:
    pool = Pool(cap=9, near_duplicate=0.8)
    pool.add(make_task("a", LONG), 1.0, 0.5, 1)
    like = pool.near_duplicate_of(make_task("b", LONG.replace("?", "!")))
    assert like is not None and like.task.id == "a"
    assert pool.near_duplicate_of(make_task("c", LONG.replace("4", "5"))) is None
    # The same prompt again is a renewal.
    assert pool.near_duplicate_of(make_task("d", LONG.upper())) is None


@pytest.mark.parametrize("leave", ["retire", "evict"])
def test_what_left_the_pool_is_no_longer_like_anything(leave: str) -> None:
    pool = Pool(cap=1, near_duplicate=0.8)
    task = make_task("a", LONG)
    pool.add(task, 0.1, 0.5, 1)
    if leave == "retire":
        pool.retire(task)
    else:
        pool.add(make_task("b", "something else"), 1.0, 0.5, 1)
    assert pool.near_duplicate_of(make_task("c", LONG.replace("?", "!"))) is None


def test_a_threshold_of_one_takes_only_equal_prompts_for_copies() -> None:
    pool = Pool(cap=9, near_duplicate=1.0)
    pool.add(make_task("a", "aaaa"), 1.0, 0.5, 1)
    assert pool.near_duplicate_of(make_task("b", "aaaaa")) is None


def test_near_duplicates_are_known_after_loading() -> None:
    pool, other = Pool(cap=9, near_duplicate=0.8), Pool(cap=9, near_duplicate=0.8)
    pool.add(make_task("a", LONG), 1.0, 0.5, 1)
    other.load_lines(pool.to_lines())
    assert other.near_duplicate_of(make_task("b", LONG.replace("?", "!"))) is not None


def test_a_task_is_solved_at_its_second_full_success_in_a_row() -> None:
    pool, task = Pool(cap=9), make_task("a", "a")
    assert not pool.is_solved(task, 1.0)
    pool.add(task, 1.0, 1.0, 1)
    assert pool.is_solved(task, 1.0)
    assert not pool.is_solved(task, 0.75)
    pool.add(task, 1.0, 0.75, 2)
    assert not pool.is_solved(task, 1.0)
