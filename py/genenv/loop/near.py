"""Prompts that say nearly the same: equal numbers and signs, and letters that are alike.

Here and not with the formulas in TypeScript, since the index is state that follows the pool: built
anew there for each batch, 5,000 prompts of 200 characters cost a second of processor time.
"""

import math
import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator

import numpy as np

# Two prompts that differ in one of these ask for different things, however alike they are.
_FACTS = re.compile(r"\d+(?:\.\d+)?|[+\-*/=<>^%×÷−]")  # noqa: RUF001
# So many prompts of equal facts are compared one by one; more get an index of their own.
_FEW = 64
_NONE = array("I")


def facts(text: str) -> tuple[str, ...]:
    """The numbers and signs of a normalised prompt, sorted."""
    return tuple(sorted(_FACTS.findall(text)))


def trigrams(text: str) -> frozenset[str]:
    """Every three characters in a row, with a space at both ends; never empty."""
    padded = f"  {text} "
    return frozenset(padded[i : i + 3] for i in range(len(padded) - 2))


def similarity(one: str, other: str) -> float:
    """Jaccard similarity of the trigrams of two normalised prompts, 0 where their facts differ."""
    return _alike(trigrams(one), trigrams(other)) if facts(one) == facts(other) else 0.0


def _alike(one: frozenset[str], other: frozenset[str]) -> float:
    common = len(one & other)
    return common / (len(one) + len(other) - common)


class NearIndex:
    """Normalised prompts, in which one like another is found without comparing with all."""

    def __init__(self) -> None:
        # By the hash of their facts: prompts of other facts may be there too.
        self._few: dict[int, list[str]] = {}
        self._many: dict[int, _GramIndex] = {}

    def add(self, text: str) -> None:
        """Add a prompt that is not here."""
        place = hash(facts(text))
        if place in self._many:
            self._many[place].add(text)
            return
        few = self._few.setdefault(place, [])
        few.append(text)
        if len(few) > _FEW:
            self._many[place] = _GramIndex(self._few.pop(place))

    def remove(self, text: str) -> None:
        place = hash(facts(text))
        if place in self._many:
            self._many[place].remove(text)
            return
        self._few[place].remove(text)
        if not self._few[place]:
            del self._few[place]

    def find(self, text: str, threshold: float) -> str | None:
        """The prompt most like ``text`` whose similarity is at least ``threshold``, or None.

        The oldest of equals.
        """
        known, grams = facts(text), trigrams(text)
        place = hash(known)
        candidates: Iterable[str] = self._few.get(place, ())
        if place in self._many:
            candidates = self._many[place].candidates(grams, threshold)
        best, best_similarity = None, 0.0
        for candidate in candidates:
            alike = _alike(grams, trigrams(candidate))
            if alike + 1e-9 >= threshold and alike > best_similarity and facts(candidate) == known:
                best, best_similarity = candidate, alike
        return best


class _GramIndex:
    """Prompts by number, and which of them hold a trigram: four bytes each."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._fill(texts)

    def _fill(self, texts: Iterable[str]) -> None:
        self._texts: list[str | None] = []
        self._numbers: dict[str, int] = {}
        self._holders: defaultdict[str, array[int]] = defaultdict(lambda: array("I"))
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        number = len(self._texts)
        self._texts.append(text)
        self._numbers[text] = number
        for gram in trigrams(text):
            self._holders[gram].append(number)

    def remove(self, text: str) -> None:
        self._texts[self._numbers.pop(text)] = None
        if len(self._texts) > 2 * len(self._numbers) + _FEW:
            self._fill(list(self._numbers))

    def candidates(self, grams: frozenset[str], threshold: float) -> Iterator[str]:
        """Every prompt whose similarity may be at least ``threshold``, the oldest first.

        One of similarity t shares at least t |A| of the |A| trigrams, so it lacks ``lacking`` of
        them at most, wherever one looks: the rarest are asked for, and one of the others more than
        that makes a chance meeting no candidate.
        """
        lacking = len(grams) - math.ceil(threshold * len(grams) - 1e-9)
        lists = [self._holders.get(gram, _NONE) for gram in grams]
        rarest = sorted(lists, key=len)[: 2 * lacking + 1]
        met = np.bincount(np.concatenate([np.asarray(each) for each in rarest]))
        for number in np.flatnonzero(met >= len(rarest) - lacking):
            text = self._texts[number]
            if text is not None:
                yield text
