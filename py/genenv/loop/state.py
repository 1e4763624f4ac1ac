"""What the loop remembers between epochs; saved with both models as one."""

import random
from dataclasses import dataclass, field
from typing import Any

from genenv.loop.pool import Pool
from genenv.loop.tasks import Task, fields_of, task_of


@dataclass
class LoopState:
    """The loop's own state.

    Attributes:
        pool: kept tasks.
        generator: the source of every draw the loop makes.
        epoch: the last finished epoch.
        step: updates of the agent so far.
        success_rates: last p-hat of each seed task that was tried.
        order: seed-task indices still to come in this pass over the data.
        ledger_rows: ledger entries that belong to this state.
        waiting: accepted tasks that found no place in a batch yet, oldest first.
    """

    pool: Pool
    generator: random.Random
    epoch: int = 0
    step: int = 0
    success_rates: dict[str, float] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)
    ledger_rows: int = 0
    waiting: list[Task] = field(default_factory=list)

    def next_seeds(self, tasks: list[Task], count: int, without: set[str]) -> list[Task]:
        """The next ``count`` seed tasks of a shuffled pass; the pass starts anew when it ends.

        A batch never holds a task twice unless there are fewer tasks than places; then it holds
        each once before any twice, and so on.
        """
        chosen: list[Task] = []
        taken = set(without)
        for _ in range(count):
            if all(task.id in taken for task in tasks):
                taken = set()
            task = tasks[self._next_index(tasks, taken)]
            chosen.append(task)
            taken.add(task.id)
        return chosen

    def _next_index(self, tasks: list[Task], taken: set[str]) -> int:
        if all(tasks[index].id in taken for index in self.order):
            fresh = list(range(len(tasks)))
            self.generator.shuffle(fresh)
            self.order.extend(fresh)
        place = next(p for p, index in enumerate(self.order) if tasks[index].id not in taken)
        return self.order.pop(place)

    def to_json(self) -> dict[str, Any]:
        """Everything but the pool, as values of their own: what comes later is not in them."""
        version, internal, gauss = self.generator.getstate()
        return {
            "epoch": self.epoch,
            "step": self.step,
            "success_rates": dict(self.success_rates),
            "order": list(self.order),
            "ledger_rows": self.ledger_rows,
            "waiting": [fields_of(task) for task in self.waiting],
            "random": [version, list(internal), gauss],
        }

    def load_json(self, saved: dict[str, Any]) -> None:
        """Become what ``to_json`` gave; the pool stays."""
        self.epoch = saved["epoch"]
        self.step = saved["step"]
        self.success_rates = dict(saved["success_rates"])
        self.order = list(saved["order"])
        self.ledger_rows = saved["ledger_rows"]
        self.waiting = [task_of(raw) for raw in saved["waiting"]]
        version, internal, gauss = saved["random"]
        self.generator.setstate((version, tuple(internal), gauss))
