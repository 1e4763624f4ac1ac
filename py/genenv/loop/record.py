"""What an epoch leaves in the ledger and in the rollouts' files."""

from collections.abc import Mapping, Sequence
from typing import Any

from genenv.hooks import Decision
from genenv.loop.batch import Batch
from genenv.loop.generation import Answer, Generation
from genenv.loop.labels import LOW_AGREEMENT
from genenv.loop.ledger import Entry, entry_for
from genenv.loop.scoring import Group
from genenv.loop.tasks import Task, to_json

Rewards = dict[str, float | None]  # R by answer id


def ledger_entries(
    epoch: int,
    generation: Generation,
    batch: Batch,
    groups: list[Group],
    trained: set[str],
    rewards: Rewards,
    decisions: dict[str, Decision],
    task_rewards: Mapping[str, float | None],
) -> list[Entry]:
    """One entry for every tried task, every task that found no place, and every rejected answer.

    Args:
        epoch: number of the epoch.
        generation: the environment's answers.
        batch: what was tried, and what was not.
        groups: the tried tasks with their scores.
        trained: ids of tasks that were trained on.
        rewards: R by answer id.
        decisions: what became of each generated task with a success rate, by id.
        task_rewards: R of each of those by its own success rate, by id.
    """
    entries = [
        _tried(epoch, g, trained, task_rewards.get(g.task.id), decisions.get(g.task.id))
        for g in groups
    ]
    for answer in generation.answers:
        entries += [_rejected(epoch, answer, reason, rewards) for reason in answer.rejects]
    entries += [_untried(epoch, task, reason) for task, reason in batch.dropped]
    entries += [_untried(epoch, task, "waiting") for task in batch.waiting if task.epoch == epoch]
    return entries


def _tried(
    epoch: int,
    group: Group,
    trained: set[str],
    reward: float | None,
    decision: Decision | None,
) -> Entry:
    task = group.task
    generated = task.source == "environment"
    return entry_for(
        task,
        epoch,
        success_rate=group.success_rate,
        responses=len(group.rows),
        scored=group.scored,
        agreement=group.agreement,
        reward=reward,
        trained=task.id in trained,
        kept=bool(generated and decision and decision.keep),
        reason=_reason(group, decision, generated),
    )


def _untried(epoch: int, task: Task, reason: str) -> Entry:
    return entry_for(
        task,
        epoch,
        success_rate=None,
        responses=0,
        scored=0,
        agreement=None,
        reward=None,
        trained=False,
        kept=False,
        reason=reason,
    )


def _reason(group: Group, decision: Decision | None, generated: bool) -> str:
    if not group.rows:
        return "rollout-failed"
    if group.task.ground_truth is None:
        return LOW_AGREEMENT
    if group.success_rate is None:
        return "no-score"
    if not generated:
        return "seed"
    return decision.reason if decision else "no-decision"


def _rejected(epoch: int, answer: Answer, reason: str, rewards: Rewards) -> Entry:
    return Entry(
        epoch=epoch,
        task=None,
        source="environment",
        parent=answer.id,
        parent_seeds=answer.seeds,
        written_epoch=epoch,
        prompt=None,
        ground_truth=None,
        success_rate=None,
        responses=0,
        scored=0,
        agreement=None,
        reward=rewards.get(answer.id),
        trained=False,
        kept=False,
        reason=reason,
        answer=answer.row["text"],
    )


def answer_rows(epoch: int, generation: Generation, rewards: Rewards) -> list[dict[str, Any]]:
    return [
        {
            "epoch": epoch,
            "role": "environment",
            "phase": "train",
            "task": answer.id,
            "sample": place,
            "prompt": to_json(generation.prompts[answer.prompt]),
            "response": answer.row["text"],
            "response_tokens": answer.row["tokens"],
            "score": rewards.get(answer.id),
            "reason": "; ".join(answer.rejects) or None,
        }
        for place, answer in enumerate(generation.answers)
    ]


def response_rows(epoch: int, phase: str, groups: Sequence[Group]) -> list[dict[str, Any]]:
    """The agent's responses with their scores, as rows for the rollouts' Parquet."""
    return [
        {
            "epoch": epoch,
            "role": "agent",
            "phase": phase,
            "task": group.task.id,
            "sample": sample,
            "prompt": to_json(group.task.messages),
            "response": row["text"],
            "response_tokens": row["tokens"],
            "ground_truth": to_json(group.task.ground_truth),
            "data_source": group.task.data_source,
            "extra": _json_or_none(group.task.extra),
            "score": score.value,
            "success": success,
            "parts": to_json(score.metrics),
            "failure": score.code,
            "reason": score.reason,
        }
        for group in groups
        for sample, (row, score, success) in enumerate(
            zip(group.rows, group.scores, group.successes, strict=True)
        )
    ]


def _json_or_none(value: Any) -> str | None:
    """The value as JSON; None where it holds what JSON can't, such as a date out of a data file."""
    try:
        return to_json(value)
    except (TypeError, ValueError):
        return None
