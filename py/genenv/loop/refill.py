"""More tasks in place of groups without signal (veRL's ``algorithm.filter_groups``)."""

from collections.abc import Sequence

from genenv.loop.scoring import Group
from genenv.loop.state import LoopState
from genenv.loop.tasks import Task

# Rollouts in an epoch where ``max_num_gen_batches`` is 0: veRL's word for no bound, which a
# solved data set would make an endless loop.
ROUNDS = 10


def has_signal(group: Group, metric: str) -> bool:
    """Whether a group's rewards (``reward``) or successes (``acc``) differ."""
    if metric == "acc":
        return len({success for success in group.successes if success is not None}) > 1
    return group.has_signal


def missing(groups: Sequence[Group], size: int, metric: str) -> int:
    """How many groups with signal a batch of ``size`` lacks."""
    return max(0, size - sum(has_signal(group, metric) for group in groups))


def take(groups: Sequence[Group], size: int, metric: str) -> list[Group]:
    """The first ``size`` groups with signal: what the update trains on."""
    return [group for group in groups if has_signal(group, metric)][:size]


def draw(
    tried: Sequence[Task],
    state: LoopState,
    seed_tasks: list[Task],
    *,
    count: int,
    seed_fraction: float,
) -> list[Task]:
    """Up to ``count`` tasks that this epoch has not tried, from the pool and the data.

    Fewer, or none, where all have been tried: the same task again would be the same group again.
    """
    prompts = {task.key for task in tried}
    drawn = state.pool.draw(count - round(count * seed_fraction), state.generator, prompts)
    tasks = [entry.task for entry in drawn]
    prompts |= {task.key for task in tasks}
    fresh = [task for task in seed_tasks if task.key not in prompts]
    wanted = min(count - len(tasks), len({task.key for task in fresh}))
    taken = {task.id for task in seed_tasks} - {task.id for task in fresh}
    return tasks + state.next_seeds(seed_tasks, wanted, taken)
