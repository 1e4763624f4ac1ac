"""Keys with weights: one drawn in proportion to its weight, or the lightest found, without a look
at all of them."""

import random
from collections.abc import Iterable

# Weights are kept as whole numbers of this part, so that sums are exact: a draw depends on the
# keys, their order and their weights, and not on what was here before.
_UNIT = 2.0**-40
_SMALLEST = 64


class WeightedKeys:
    """Keys in the order they came: a binary tree over them holds sums and least weights."""

    def __init__(self) -> None:
        self._rebuild([], [])

    def __len__(self) -> int:
        return len(self._places)

    def set(self, key: str, weight: float) -> None:
        """Add a key at the end, or give one that is here another weight; below 0 counts as 0."""
        if key not in self._places:
            if len(self._keys) == self._size:
                self._rebuild(list(self._places), [self._leaf(k) for k in self._places])
            self._places[key] = len(self._keys)
            self._keys.append(key)
        whole = int(max(weight, 0.0) / _UNIT)
        self._put(self._places[key], max(whole, 1) if weight > 0 else 0)

    def remove(self, key: str) -> None:
        place = self._places.pop(key)
        self._keys[place] = None
        self._put(place, None)

    def lightest(self) -> str:
        """The key with the least weight, the oldest of equals."""
        node = 1
        while node < self._size:
            left, right = self._least[2 * node], self._least[2 * node + 1]
            goes_right = left is None or (right is not None and right < left)
            node = 2 * node + goes_right
        key = self._keys[node - self._size]
        assert key is not None
        return key

    def draw(self, count: int, generator: random.Random, without: Iterable[str]) -> list[str]:
        """Up to ``count`` different keys, none of ``without``; weightless ones after all others."""
        aside = {key: self._take(key) for key in without if key in self._places}
        drawn: list[str] = []
        while len(drawn) < count and self._sums[1] > 0:
            key = self._at(generator.randrange(self._sums[1]))
            aside[key] = self._take(key)
            drawn.append(key)
        if len(drawn) < count and len(aside) < len(self):
            weightless = [key for key in self._places if key not in aside]
            drawn += generator.sample(weightless, min(count - len(drawn), len(weightless)))
        for key, whole in aside.items():
            self._put(self._places[key], whole)
        return drawn

    # -- the tree: node i has the children 2i and 2i + 1, and the leaves come last -----------------

    def _rebuild(self, keys: list[str], wholes: list[int]) -> None:
        self._size = size = max(_SMALLEST, 1 << (2 * len(keys)).bit_length())
        self._keys: list[str | None] = list(keys)
        self._places = {key: place for place, key in enumerate(keys)}
        self._sums = [0] * size + wholes + [0] * (size - len(keys))
        self._least: list[int | None] = [None] * size + wholes + [None] * (size - len(keys))
        for node in range(size - 1, 0, -1):
            self._sum_up(node)

    def _put(self, place: int, whole: int | None) -> None:
        node = self._size + place
        self._sums[node] = whole or 0
        self._least[node] = whole
        while node > 1:
            node //= 2
            self._sum_up(node)

    def _sum_up(self, node: int) -> None:
        self._sums[node] = self._sums[2 * node] + self._sums[2 * node + 1]
        left, right = self._least[2 * node], self._least[2 * node + 1]
        self._least[node] = right if left is None or (right is not None and right < left) else left

    def _leaf(self, key: str) -> int:
        return self._sums[self._size + self._places[key]]

    def _take(self, key: str) -> int:
        whole = self._leaf(key)
        self._put(self._places[key], 0)
        return whole

    def _at(self, point: int) -> str:
        """The key whose share of the sum ``point`` lies in."""
        node = 1
        while node < self._size:
            node *= 2
            if point >= self._sums[node]:
                point -= self._sums[node]
                node += 1
        key = self._keys[node - self._size]
        assert key is not None
        return key
