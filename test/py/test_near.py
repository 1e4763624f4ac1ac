"""Near-duplicates: numbers and signs equal, letters alike; the index finds what a scan finds."""

from __future__ import annotations

import random

import pytest
from genenv.loop.near import NearIndex, facts, similarity

APPLES = "ann has 3 apples and buys 4 more. how many apples has she now?"


def test_one_more_word_in_many_leaves_prompts_alike() -> None:
    longer = APPLES.replace("has she now", "does she have now")
    assert 0.7 < similarity(APPLES, longer) < 1
    assert similarity(APPLES, APPLES) == 1


def test_trigrams_are_counted_with_the_texts_ends() -> None:
    # "ab": "  a", " ab", "ab " and "ac": "  a", " ac", "ac " have 1 of 5 in common.
    assert similarity("ab", "ac") == pytest.approx(1 / 5)
    assert similarity("", "") == 1


@pytest.mark.parametrize(
    "other",
    [
        APPLES.replace("3", "5"),
        APPLES.replace("4", "14"),
        APPLES.replace("3", "3.5"),
        APPLES.replace(" and", " +"),
    ],
)
def test_another_number_or_sign_makes_another_task(other: str) -> None:
    assert similarity(APPLES, other) == 0


def test_the_order_of_numbers_is_not_a_fact_but_shows_in_the_letters() -> None:
    assert facts("3 + 4") == facts("4 + 3") == ("+", "3", "4")
    assert similarity("what is 3 + 4?", "what is 4 + 3?") < 0.5


def test_the_index_finds_the_most_alike_at_the_threshold_or_above() -> None:
    index = NearIndex()
    near, nearer = APPLES.replace("now", "today"), APPLES.replace("?", ".")
    for text in (near, nearer, "something else with 3 and 4"):
        index.add(text)
    assert index.find(APPLES, 0.8) == nearer
    exactly = similarity(APPLES, nearer)
    assert index.find(APPLES, exactly) == nearer
    assert index.find(APPLES, exactly + 0.01) is None


def test_what_was_removed_is_not_found() -> None:
    index = NearIndex()
    index.add(APPLES)
    assert index.find(APPLES, 1.0) == APPLES
    index.remove(APPLES)
    assert index.find(APPLES, 0.1) is None
    with pytest.raises(KeyError):
        index.remove(APPLES)


@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.6, 0.9, 1.0])
@pytest.mark.parametrize("alike", ["few", "many"])
def test_the_index_finds_what_comparing_with_all_finds(threshold: float, alike: str) -> None:
    generator = random.Random(3)
    words = ["one", "two", "tree", "stone", "tone"] + (["34", "5", "+"] if alike == "few" else [])
    texts = [" ".join(generator.choices(words, k=generator.randint(1, 6))) for _ in range(600)]
    known = list(dict.fromkeys(texts[:400]))
    index = NearIndex()
    for text in known:
        index.add(text)
    for gone in known[::3]:
        index.remove(gone)
        known.remove(gone)
    for text in texts[400:440]:
        best = max(similarity(text, other) for other in known)
        found = index.find(text, threshold)
        if best + 1e-9 < threshold:
            assert found is None
        else:
            assert found is not None
            assert similarity(text, found) == pytest.approx(best)
