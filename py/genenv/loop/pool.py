"""The task pool: tasks that passed the curriculum, kept over epochs and drawn by weight."""

import random
import unicodedata
from dataclasses import asdict, dataclass, replace
from typing import Any

from genenv.loop.tasks import Task


@dataclass(frozen=True)
class PoolEntry:
    """A kept task, its weight from the curriculum, and what its last try showed."""

    task: Task
    weight: float
    success_rate: float
    last_epoch: int
    times_trained: int


def normalise(text: str) -> str:
    """Equal for prompts that differ only in case, spacing or Unicode form."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


class Pool:
    """Kept tasks by normalised prompt, in the order they came in.

    When it is over its cap, the entry with the lowest weight leaves, the oldest first among equals.
    """

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._entries: dict[str, PoolEntry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, task: Task) -> bool:
        return normalise(task.prompt_text) in self._entries

    @property
    def entries(self) -> list[PoolEntry]:
        return list(self._entries.values())

    def add(self, task: Task, weight: float, success_rate: float, epoch: int) -> list[PoolEntry]:
        """Keep a task, or renew the one with its prompt; gives the entries that had to leave."""
        key = normalise(task.prompt_text)
        known = self._entries.get(key)
        self._entries[key] = PoolEntry(
            task=known.task if known else task,
            weight=weight,
            success_rate=success_rate,
            last_epoch=epoch,
            times_trained=(known.times_trained if known else 0) + 1,
        )
        return self._evict()

    def retire(self, task: Task) -> PoolEntry | None:
        """Take a task out (solved, or no longer at the edge); None if it was not there."""
        return self._entries.pop(normalise(task.prompt_text), None)

    def _evict(self) -> list[PoolEntry]:
        gone = []
        while len(self._entries) > self._cap:
            key = min(self._entries, key=lambda k: self._entries[k].weight)
            gone.append(self._entries.pop(key))
        return gone

    def draw(self, count: int, generator: random.Random, without: set[str]) -> list[PoolEntry]:
        """Up to ``count`` different entries, drawn by weight; ids in ``without`` are left out."""
        left = [e for e in self._entries.values() if e.task.id not in without]
        drawn: list[PoolEntry] = []
        while left and len(drawn) < count:
            weights = [max(e.weight, 0.0) for e in left]
            if sum(weights) <= 0:
                weights = [1.0] * len(left)
            pick = generator.choices(range(len(left)), weights)[0]
            drawn.append(left.pop(pick))
        return drawn

    def to_state(self) -> list[dict[str, Any]]:
        """Everything, as JSON values."""
        return [asdict(entry) for entry in self._entries.values()]

    def load_state(self, state: list[dict[str, Any]]) -> None:
        """Replace the contents by what ``to_state`` gave."""
        entries = [PoolEntry(**(raw | {"task": _task(raw["task"])})) for raw in state]
        self._entries = {normalise(e.task.prompt_text): e for e in entries}


def _task(raw: dict[str, Any]) -> Task:
    return replace(Task(**raw), parent_seeds=tuple(raw["parent_seeds"]))
