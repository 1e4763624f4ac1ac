"""The task pool: tasks that passed the curriculum, kept over epochs and drawn by weight."""

import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from genenv.loop.near import NearIndex
from genenv.loop.tasks import Task, fields_of, task_of
from genenv.loop.weighted import WeightedKeys

# A task that every response solved this many times in a row is taken out: it teaches nothing more.
SOLVED_TIMES = 2


@dataclass(frozen=True)
class PoolEntry:
    """A kept task.

    Attributes:
        task: the task.
        weight: how likely it is drawn, from the curriculum.
        success_rate: p-hat of its last try.
        last_epoch: when that was.
        times_trained: how often it was in a batch.
        solved: how many times in a row p-hat was 1.
    """

    task: Task
    weight: float
    success_rate: float
    last_epoch: int
    times_trained: int
    solved: int = 0


class Pool:
    """Kept tasks by normalised prompt, in the order they came in.

    When it is over its cap, the entry with the lowest weight leaves, the oldest first among equals.
    What an epoch does here costs the same however many there are.
    """

    def __init__(self, cap: int, near_duplicate: float = 1.0) -> None:
        """``near_duplicate``: similarity from which two prompts are one; 1 is for equal ones."""
        self._cap = cap
        self._near_duplicate = near_duplicate
        self._clear()

    def _clear(self) -> None:
        self._entries: dict[str, PoolEntry] = {}
        self._weights = WeightedKeys()
        self._index = NearIndex()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, task: Task) -> bool:
        return task.key in self._entries

    @property
    def entries(self) -> Iterable[PoolEntry]:
        return self._entries.values()

    def near_duplicate_of(self, task: Task) -> PoolEntry | None:
        """An entry of another prompt that says nearly the same."""
        if self._near_duplicate >= 1 or task.key in self._entries:
            return None
        found = self._index.find(task.key, self._near_duplicate)
        return None if found is None else self._entries[found]

    def is_solved(self, task: Task, success_rate: float) -> bool:
        """Whether a try with this p-hat makes it solved often enough to leave."""
        known = self._entries.get(task.key)
        before = known.solved if known else 0
        return success_rate >= 1 and before + 1 >= SOLVED_TIMES

    def add(self, task: Task, weight: float, success_rate: float, epoch: int) -> list[PoolEntry]:
        """Keep a task, or renew the one with its prompt; gives the entries that had to leave."""
        known = self._entries.get(task.key)
        self._put(
            PoolEntry(
                task=known.task if known else task,
                weight=weight,
                success_rate=success_rate,
                last_epoch=epoch,
                times_trained=(known.times_trained if known else 0) + 1,
                solved=(known.solved if known else 0) + 1 if success_rate >= 1 else 0,
            )
        )
        gone = []
        while len(self) > self._cap:
            gone.append(self._remove(self._weights.lightest()))
        return gone

    def _put(self, entry: PoolEntry) -> None:
        key = entry.task.key
        if key not in self._entries and self._near_duplicate < 1:
            self._index.add(key)
        self._entries[key] = entry
        self._weights.set(key, entry.weight)

    def retire(self, task: Task) -> PoolEntry | None:
        """Take a task out (solved, or no longer at the edge); None if it was not there."""
        return self._remove(task.key) if task in self else None

    def _remove(self, key: str) -> PoolEntry:
        self._weights.remove(key)
        if self._near_duplicate < 1:
            self._index.remove(key)
        return self._entries.pop(key)

    def draw(
        self, count: int, generator: random.Random, without: Iterable[str] = ()
    ) -> list[PoolEntry]:
        """Up to ``count`` different entries, drawn by weight, none with a key of ``without``."""
        return [self._entries[key] for key in self._weights.draw(count, generator, without)]

    def to_lines(self) -> Iterator[str]:
        """Every entry as a line of JSON, in order."""
        return (
            f"{json.dumps(_fields(entry), allow_nan=False)}\n" for entry in self._entries.values()
        )

    def load_lines(self, lines: Iterable[str]) -> None:
        """Replace the contents by what ``to_lines`` gave."""
        self._clear()
        for line in lines:
            raw = json.loads(line)
            self._put(PoolEntry(**(raw | {"task": task_of(raw["task"])})))


def _fields(entry: PoolEntry) -> dict[str, Any]:
    return vars(entry) | {"task": fields_of(entry.task)}
