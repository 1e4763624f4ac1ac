"""What the agent's batch is made of: new tasks, tasks that waited, the pool, the data."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from genenv.loop.generation import Answer
from genenv.loop.state import LoopState
from genenv.loop.tasks import Task


@dataclass(frozen=True)
class Batch:
    """An epoch's batch.

    Attributes:
        tasks: what the agent is asked, in order.
        mix: how many came from ``new``, ``waiting``, ``pool`` and ``seed``.
        waiting: accepted tasks without a place that the next epoch looks at.
        dropped: tasks that will not be tried any more, each with the reason.
    """

    tasks: list[Task]
    mix: dict[str, int]
    waiting: list[Task]
    dropped: list[tuple[Task, str]]


def fill_batch(
    answers: Sequence[Answer],
    state: LoopState,
    seed_tasks: list[Task],
    *,
    size: int,
    seed_fraction: float,
) -> Batch:
    """Fill ``size`` places.

    This epoch's tasks come first, one of each answer before a second of any: an answer is rewarded
    only for tasks that were tried in its own epoch. Then tasks that found no place before, oldest
    first; of the places left, ``seed_fraction`` go to seed data and the others to draws from the
    pool by weight, and where it has too few to seed data too. No prompt is in a batch twice, as
    far as there are enough.

    Args:
        answers: this epoch's answers.
        state: gives pool, generator, waiting tasks and the pass over the data; only the last two
            draws change it.
        seed_tasks: all tasks of the data.
        size: places.
        seed_fraction: from 0 to 1.
    """
    new = in_turn(answers)
    placed = new[:size]
    own = {task.key for task in new}
    fresh = [task for task in state.waiting if task.key not in own]
    dropped = [(task, "duplicate") for task in state.waiting if task not in fresh]
    waited = fresh[: size - len(placed)]
    batch = placed + waited
    prompts = {task.key for task in batch}
    places = size - len(batch)
    drawn = state.pool.draw(places - round(places * seed_fraction), state.generator, prompts)
    batch = batch + [entry.task for entry in drawn]
    taken = {task.id for task in batch}
    if prompts:
        taken |= {task.id for task in seed_tasks if task.key in prompts}
    seeds = state.next_seeds(seed_tasks, size - len(batch), taken)
    # Of those without a place the newest are kept: they were written for the agent as it is now.
    left = fresh[len(waited) :] + new[size:]
    over = max(0, len(left) - size)
    return Batch(
        tasks=batch + seeds,
        mix={"new": len(placed), "waiting": len(waited), "pool": len(drawn), "seed": len(seeds)},
        waiting=left[over:],
        dropped=dropped + [(task, "batch-full") for task in left[:over]],
    )


def in_turn(answers: Sequence[Answer]) -> list[Task]:
    """The first task of each answer, then the second of each, and so on."""
    rounds = zip_longest(*(answer.tasks for answer in answers))
    return [task for one_each in rounds for task in one_each if task is not None]
