"""New tasks from the environment model: seeds in, answers out, parsed by the user's hook."""

import random
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from genenv.hooks import Accepted, HookClient, Seed
from genenv.loop.failures import Failure
from genenv.loop.pool import Pool
from genenv.loop.tasks import Task
from genenv.role.handle import RoleHandle

SEEDS_PER_PROMPT = 4


@dataclass(frozen=True)
class Answer:
    """One answer of the environment model.

    Attributes:
        id: ``e<epoch>-a<place>``.
        row: its rollout row, to be trained on.
        prompt: index of the environment prompt, its group.
        seeds: ids of the tasks the prompt showed.
        tasks: the valid, new tasks in it.
        rejects: reasons for what was not taken.
    """

    id: str
    row: dict[str, Any]
    prompt: int
    seeds: tuple[str, ...]
    tasks: tuple[Task, ...] = ()
    rejects: tuple[str, ...] = ()


@dataclass(frozen=True)
class Generation:
    """An epoch's answers and prompts.

    Attributes:
        rejects: how many were rejected for which reason; of a hook that failed, its code alone.
        failures: the answers over which the parse hook failed.
    """

    prompts: list[list[dict[str, str]]]
    answers: list[Answer]
    rejects: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)

    @property
    def tasks(self) -> list[Task]:
        """The accepted tasks, in the order of the answers."""
        return [task for answer in self.answers for task in answer.tasks]

    @property
    def valid_rate(self) -> float:
        """Share of answers with at least one valid task."""
        return sum(bool(a.tasks) for a in self.answers) / len(self.answers) if self.answers else 0.0


def pick_seeds(
    seed_tasks: list[Task],
    success_rates: dict[str, float],
    pool: Pool,
    prompts: int,
    generator: random.Random,
) -> list[list[Seed]]:
    """Tasks to show in each environment prompt: up to half from the pool, the rest from data."""
    chosen = []
    for _ in range(prompts):
        drawn = pool.draw(SEEDS_PER_PROMPT // 2, generator)
        data = generator.sample(seed_tasks, min(SEEDS_PER_PROMPT - len(drawn), len(seed_tasks)))
        chosen.append(
            [_seed(e.task, e.success_rate) for e in drawn]
            + [_seed(task, success_rates.get(task.id)) for task in data]
        )
    return chosen


def _seed(task: Task, success_rate: float | None) -> Seed:
    return {"id": task.id, "task": task.task, "successRate": success_rate}


def generate(
    role: RoleHandle,
    client: HookClient,
    seeds: list[list[Seed]],
    stop: threading.Event,
    *,
    epoch: int,
    answers_per_prompt: int,
    target_success: float,
    random_seed: int,
) -> tuple[list[list[dict[str, str]]], dict[str, Any]]:
    """Prompt the environment model and let it answer; gives the prompts and the rollout."""
    prompts = client.environment_prompts(seeds, epoch, target_success, random_seed)
    return prompts, role.rollout(stop, prompts=prompts, n=answers_per_prompt)


def parse(
    client: HookClient,
    prompts: list[list[dict[str, str]]],
    rows: list[dict[str, Any]],
    seeds: list[list[Seed]],
    *,
    epoch: int,
    fits: Any,
    needs_truth: bool = True,
) -> Generation:
    """Let the user's hook read every answer.

    Rejected here: prompts that are in the epoch already, prompts that are too long, and tasks
    without a ground truth where nothing else will give them one.

    Args:
        client: the hook plane.
        prompts: the environment prompts.
        rows: the rollout's rows.
        seeds: the tasks each prompt showed.
        epoch: number of the epoch.
        fits: tells whether a chat is short enough for the agent (``data.max_prompt_length``).
        needs_truth: False where a vote of the agent's answers labels tasks.
    """
    parsed = client.parse([row["text"] for row in rows], [seeds[row["prompt"]] for row in rows])
    rejects: Counter[str] = Counter()
    failures: list[Failure] = []
    seen: set[str] = set()
    answers = []
    for place, (row, items) in enumerate(zip(rows, parsed, strict=True)):
        answer_id = f"e{epoch}-a{place}"
        shown = tuple(seed["id"] for seed in seeds[row["prompt"]])
        tasks: list[Task] = []
        reasons: list[str] = []
        for index, item in enumerate(items):
            if not isinstance(item, Accepted):
                reasons.append(item.reason)
                if item.code is None:
                    rejects[item.reason] += 1
                else:
                    # The whole reason, with its stack, is the ledger's.
                    rejects[f"failed: {item.code}"] += 1
                    reason = item.reason.removeprefix(f"failed: {item.code}: ")
                    failures.append(Failure(item.code, reason))
                continue
            task = _task(item, f"{answer_id}-t{index}", answer_id, shown, epoch)
            why_not = _why_not(task, seen, fits, needs_truth)
            if why_not is not None:
                reasons.append(why_not)
                rejects[why_not] += 1
                continue
            seen.add(task.key)
            tasks.append(task)
        answers.append(Answer(answer_id, row, row["prompt"], shown, tuple(tasks), tuple(reasons)))
    return Generation(prompts, answers, rejects, failures)


def _why_not(task: Task, seen: set[str], fits: Any, needs_truth: bool) -> str | None:
    if needs_truth and task.ground_truth is None:
        return "no-ground-truth"
    if task.key in seen:
        return "duplicate"
    return None if fits(task.messages) else "prompt-too-long"


def _task(item: Accepted, task_id: str, parent: str, seeds: tuple[str, ...], epoch: int) -> Task:
    return Task(
        id=task_id,
        source="environment",
        messages=item.messages,
        ground_truth=item.task["groundTruth"],
        task=item.task,
        extra={k: v for k, v in item.task.items() if k not in ("prompt", "groundTruth")},
        parent=parent,
        parent_seeds=seeds,
        epoch=epoch,
    )
