"""Weighted keys against what looking at all of them gives."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from genenv.loop.weighted import WeightedKeys


def filled(weights: dict[str, float]) -> WeightedKeys:
    keys = WeightedKeys()
    for key, weight in weights.items():
        keys.set(key, weight)
    return keys


@pytest.mark.parametrize("count", [1, 64, 65, 1000])
def test_the_lightest_is_the_oldest_of_the_least_weight(count: int) -> None:
    generator = random.Random(count)
    weights = {f"k{i}": float(generator.randrange(8)) for i in range(count)}
    keys = filled(weights)
    for _ in range(count):
        lightest = min(weights, key=lambda key: weights[key])
        assert keys.lightest() == lightest
        keys.remove(lightest)
        del weights[lightest]
    assert len(keys) == 0


def test_a_key_keeps_its_place_when_its_weight_changes() -> None:
    keys = filled({"a": 1.0, "b": 1.0})
    keys.set("a", 3.0)
    assert keys.lightest() == "b"
    keys.set("a", 1.0)
    assert keys.lightest() == "a"


def test_draws_depend_on_keys_order_and_weights_alone() -> None:
    # One grew by many additions and removals, the other holds only what is left.
    generator = random.Random(5)
    weights: dict[str, float] = {}
    grown = WeightedKeys()
    for i in range(3000):
        weights[f"k{i}"] = generator.random()
        grown.set(f"k{i}", weights[f"k{i}"])
        if i % 3:
            gone = generator.choice(list(weights))
            grown.remove(gone)
            del weights[gone]
    fresh = filled(weights)
    assert len(grown) == len(fresh) == 1000
    one, other = random.Random(9), random.Random(9)
    for _ in range(20):
        assert grown.draw(7, one, ()) == fresh.draw(7, other, ())


def test_a_draw_leaves_the_weights_as_they_were() -> None:
    keys = filled({"a": 1.0, "b": 2.0, "c": 0.0})
    for _ in range(3):
        drawn = keys.draw(3, random.Random(0), {"b", "not here"})
        assert drawn == ["a", "c"]
    assert sorted(keys.draw(3, random.Random(0), ())[:2]) == ["a", "b"]


def test_a_second_draw_is_in_proportion_to_what_the_first_left() -> None:
    # P(second is "c") = P(a, c) + P(b, c) = 1/2 * 1/2 + 1/4 * 1/3 = 1/3. Of 3000, 1000 +- 26.
    keys = filled({"a": 2.0, "b": 1.0, "c": 1.0})
    generator = random.Random(1)
    seconds = Counter(keys.draw(2, generator, ())[1] for _ in range(3000))
    assert abs(seconds["c"] - 1000) < 5 * 26


def test_a_weight_below_any_unit_is_drawn_before_none_and_one_below_0_is_none() -> None:
    keys = filled({"zero": 0.0, "least": 1e-30, "below": -1.0})
    for seed in range(20):
        assert keys.draw(1, random.Random(seed), ()) == ["least"]
    assert keys.lightest() == "zero"


def test_what_is_not_here_cannot_be_removed() -> None:
    with pytest.raises(KeyError):
        filled({"a": 1.0}).remove("b")
