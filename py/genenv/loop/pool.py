"""The task pool: tasks that passed the curriculum, kept over epochs and drawn by weight."""

import random
import unicodedata
from dataclasses import asdict, dataclass, replace
from typing import Any

from genenv.loop.near import NearIndex
from genenv.loop.tasks import Task

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


def normalise(text: str) -> str:
    """Equal for prompts that differ only in case, spacing or Unicode form."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


class Pool:
    """Kept tasks by normalised prompt, in the order they came in.

    When it is over its cap, the entry with the lowest weight leaves, the oldest first among equals.
    """

    def __init__(self, cap: int, near_duplicate: float = 1.0) -> None:
        """``near_duplicate``: similarity from which two prompts are one; 1 is for equal ones."""
        self._cap = cap
        self._near_duplicate = near_duplicate
        self._entries: dict[str, PoolEntry] = {}
        self._index = NearIndex()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, task: Task) -> bool:
        return normalise(task.prompt_text) in self._entries

    @property
    def entries(self) -> list[PoolEntry]:
        return list(self._entries.values())

    def ids_of(self, prompts: set[str]) -> set[str]:
        """Ids of the entries with these normalised prompts."""
        return {self._entries[key].task.id for key in prompts if key in self._entries}

    def near_duplicate_of(self, task: Task) -> PoolEntry | None:
        """An entry of another prompt that says nearly the same."""
        key = normalise(task.prompt_text)
        if self._near_duplicate >= 1 or key in self._entries:
            return None
        found = self._index.find(key, self._near_duplicate)
        return None if found is None else self._entries[found]

    def is_solved(self, task: Task, success_rate: float) -> bool:
        """Whether a try with this p-hat makes it solved often enough to leave."""
        known = self._entries.get(normalise(task.prompt_text))
        before = known.solved if known else 0
        return success_rate >= 1 and before + 1 >= SOLVED_TIMES

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
            solved=(known.solved if known else 0) + 1 if success_rate >= 1 else 0,
        )
        self._index.add(key)
        return self._evict()

    def retire(self, task: Task) -> PoolEntry | None:
        """Take a task out (solved, or no longer at the edge); None if it was not there."""
        return self._remove(normalise(task.prompt_text))

    def _remove(self, key: str) -> PoolEntry | None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._index.remove(key)
        return entry

    def _evict(self) -> list[PoolEntry]:
        gone = []
        while len(self._entries) > self._cap:
            key = min(self._entries, key=lambda k: self._entries[k].weight)
            gone.append(self._entries[key])
            self._remove(key)
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
        entries = [PoolEntry(**(raw | {"task": task_of(raw["task"])})) for raw in state]
        self._entries = {normalise(e.task.prompt_text): e for e in entries}
        self._index = NearIndex()
        for key in self._entries:
            self._index.add(key)


def task_of(raw: dict[str, Any]) -> Task:
    """A task from what ``asdict`` made of it."""
    return replace(Task(**raw), parent_seeds=tuple(raw["parent_seeds"]))
