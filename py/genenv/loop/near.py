"""Prompts that say nearly the same: equal numbers and signs, and letters that are alike.

Here and not with the formulas in TypeScript, since the index is state that follows the pool: built
anew there for each batch, 5,000 prompts of 200 characters cost a second of processor time.
"""

import math
import re

# Two prompts that differ in one of these ask for different things, however alike they are.
_FACTS = re.compile(r"\d+(?:\.\d+)?|[+\-*/=<>^%×÷−]")  # noqa: RUF001


def facts(text: str) -> tuple[str, ...]:
    """The numbers and signs of a normalised prompt, sorted."""
    return tuple(sorted(_FACTS.findall(text)))


def trigrams(text: str) -> frozenset[str]:
    """Every three characters in a row, with a space at both ends; never empty."""
    padded = f"  {text} "
    return frozenset(padded[i : i + 3] for i in range(len(padded) - 2))


def similarity(one: str, other: str) -> float:
    """Jaccard similarity of the trigrams of two normalised prompts, 0 where their facts differ."""
    if facts(one) != facts(other):
        return 0.0
    a, b = trigrams(one), trigrams(other)
    return len(a & b) / len(a | b)


class NearIndex:
    """Normalised prompts, in which one like another is found without comparing with all."""

    def __init__(self) -> None:
        self._grams: dict[str, frozenset[str]] = {}
        self._holders: dict[tuple[tuple[str, ...], str], dict[str, None]] = {}

    def add(self, text: str) -> None:
        if text in self._grams:
            return
        self._grams[text] = trigrams(text)
        for place in self._places(text):
            self._holders.setdefault(place, {})[text] = None

    def remove(self, text: str) -> None:
        for place in self._places(text):
            holders = self._holders[place]
            del holders[text]
            if not holders:
                del self._holders[place]
        del self._grams[text]

    def _places(self, text: str) -> list[tuple[tuple[str, ...], str]]:
        known = facts(text)
        return [(known, gram) for gram in self._grams[text]]

    def find(self, text: str, threshold: float) -> str | None:
        """The prompt most like ``text`` whose similarity is at least ``threshold``, or None.

        One of similarity t shares at least t |A| of the |A| trigrams, so it holds at least one of
        any |A| - ceil(t |A|) + 1 of them: the rarest are asked for.
        """
        known, grams = facts(text), trigrams(text)
        needed = len(grams) - math.ceil(threshold * len(grams) - 1e-9) + 1
        holders = {gram: self._holders.get((known, gram), {}) for gram in sorted(grams)}
        rarest = sorted(holders, key=lambda gram: len(holders[gram]))[:needed]
        best, best_similarity = None, 0.0
        for candidate in dict.fromkeys(text for gram in rarest for text in holders[gram]):
            other = self._grams[candidate]
            alike = len(grams & other) / len(grams | other)
            if alike + 1e-9 >= threshold and alike > best_similarity:
                best, best_similarity = candidate, alike
        return best
