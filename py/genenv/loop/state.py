"""What the loop remembers between epochs; saved with both models as one."""

import random
from dataclasses import dataclass, field
from typing import Any

from genenv.loop.pool import Pool
from genenv.loop.tasks import Task


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
    """

    pool: Pool
    generator: random.Random
    epoch: int = 0
    step: int = 0
    success_rates: dict[str, float] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)
    ledger_rows: int = 0

    def next_seeds(self, tasks: list[Task], count: int, without: set[str]) -> list[Task]:
        """The next ``count`` seed tasks of a shuffled pass; the pass starts anew when it ends.

        A batch never holds a task twice unless there are fewer tasks than places.
        """
        chosen: list[Task] = []
        taken = set(without)
        for _ in range(count):
            index = self._next_index(tasks, taken)
            chosen.append(tasks[index])
            taken.add(tasks[index].id)
        return chosen

    def _next_index(self, tasks: list[Task], taken: set[str]) -> int:
        if not any(tasks[i].id not in taken for i in self.order):
            fresh = list(range(len(tasks)))
            self.generator.shuffle(fresh)
            self.order.extend(fresh)
        for place, index in enumerate(self.order):
            if tasks[index].id not in taken:
                return self.order.pop(place)
        return self.order.pop(0)

    def to_json(self) -> dict[str, Any]:
        version, internal, gauss = self.generator.getstate()
        return {
            "epoch": self.epoch,
            "step": self.step,
            "success_rates": self.success_rates,
            "order": self.order,
            "ledger_rows": self.ledger_rows,
            "pool": self.pool.to_state(),
            "random": [version, list(internal), gauss],
        }

    def load_json(self, saved: dict[str, Any]) -> None:
        self.epoch = saved["epoch"]
        self.step = saved["step"]
        self.success_rates = dict(saved["success_rates"])
        self.order = list(saved["order"])
        self.ledger_rows = saved["ledger_rows"]
        self.pool.load_state(saved["pool"])
        version, internal, gauss = saved["random"]
        self.generator.setstate((version, tuple(internal), gauss))
