"""Ground truths for tasks that have none: a vote of the agent's answers (``labels: majority``)."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from genenv.hooks import HookClient, ScoreResult, Vote
from genenv.loop.scoring import Group
from genenv.loop.tasks import Task

LOW_AGREEMENT = "low-agreement"

Score = Callable[[Sequence[Task], list[dict[str, Any]]], list[Group]]


def score_with_labels(
    client: HookClient,
    score: Score,
    tasks: Sequence[Task],
    rows: list[dict[str, Any]],
    *,
    min_agreement: float,
) -> list[Group]:
    """Score a rollout, its tasks without a ground truth by the label that their responses vote for.

    A label stays with its task: in the pool the task is one with a ground truth. Where too few
    responses agree, all of the task's abstain.

    Args:
        client: asks the reward's ``extract`` and the vote's formula.
        score: scores tasks with ground truths; ``row["prompt"]`` is the index into its tasks.
        tasks: P tasks that were rolled out.
        rows: the rollout's rows.
        min_agreement: the least share of a task's responses that a label needs.
    """
    rows_of: list[list[dict[str, Any]]] = [[] for _ in tasks]
    for row in rows:
        rows_of[row["prompt"]].append(row)
    open_places = [
        place for place, task in enumerate(tasks) if task.ground_truth is None and rows_of[place]
    ]
    if not open_places:
        return score(tasks, rows)
    texts = [[row["text"] for row in rows_of[place]] for place in open_places]
    votes = dict(zip(open_places, client.labels(texts, min_agreement), strict=True))
    labelled = [_labelled(task, votes.get(place)) for place, task in enumerate(tasks)]
    known = [place for place, task in enumerate(labelled) if task.ground_truth is not None]
    at = {place: index for index, place in enumerate(known)}
    # veRL's rows are known by identity: each group gets its own again.
    mine = [row for row in rows if row["prompt"] in at]
    scored = score(
        [labelled[place] for place in known], [row | {"prompt": at[row["prompt"]]} for row in mine]
    )
    groups = []
    for place, task in enumerate(labelled):
        own = rows_of[place]
        vote = votes.get(place)
        agreement = vote.agreement if vote else None
        if place in at:
            groups.append(replace(scored[at[place]], rows=own, agreement=agreement))
        else:
            groups.append(_unlabelled(task, own, agreement))
    return groups


def _labelled(task: Task, vote: Vote | None) -> Task:
    if vote is None or vote.label is None:
        return task
    own = task.task | {"groundTruth": vote.label}
    return replace(task, ground_truth=vote.label, task=own)


def _unlabelled(task: Task, rows: list[dict[str, Any]], agreement: float | None) -> Group:
    abstained = ScoreResult("abstain", reason=LOW_AGREEMENT)
    return Group(task, rows, [abstained] * len(rows), [None] * len(rows), agreement)
