"""From scored responses to what GRPO and the environment reward need: groups and success rates."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from genenv.hooks import ScoreResult
from genenv.loop.failures import Failure, refuse_failures
from genenv.loop.generation import Answer
from genenv.loop.overlap import results_of
from genenv.loop.python_reward import Scorer
from genenv.loop.tasks import Task


@dataclass(frozen=True)
class Group:
    """All responses to one task.

    Attributes:
        task: what was asked.
        rows: the rollout's rows, in sample order.
        scores: the reward hook's word on each, same order.
        successes: by row; None where there is no score.
    """

    task: Task
    rows: list[dict[str, Any]]
    scores: list[ScoreResult]
    successes: list[bool | None]
    # The share of responses that gave the label, where a vote decided it.
    agreement: float | None = None

    @property
    def scored(self) -> int:
        return sum(score.kind == "score" for score in self.scores)

    @property
    def success_rate(self) -> float | None:
        """p-hat: successes over scored responses; None if none was scored."""
        known = [success for success in self.successes if success is not None]
        return sum(known) / len(known) if known else None

    @property
    def has_signal(self) -> bool:
        """Whether the group's rewards differ: equal ones give no advantage to anybody."""
        return len({score.value for score in self.scores if score.kind == "score"}) > 1

    def trainable(self) -> list[tuple[dict[str, Any], float]]:
        """Rows with their rewards; none where fewer than two have one: nothing to compare."""
        if self.scored < 2:
            return []
        return [
            (row, float(score.value))
            for row, score in zip(self.rows, self.scores, strict=True)
            if score.kind == "score" and score.value is not None
        ]


def score_groups(
    scorer: Scorer,
    tasks: Sequence[Task],
    rows: list[dict[str, Any]],
    *,
    success_threshold: float,
    on_failure: str,
) -> list[Group]:
    """Score a whole rollout in one batch, unless reward workers did it while others generated.

    Args:
        scorer: the hook plane, or a Python reward.
        tasks: P tasks that were rolled out.
        rows: the rollout's rows; ``row["prompt"]`` is the index into ``tasks``, ``row["score"]``
            what a reward worker told.
        success_threshold: value from which a score without a word on success is one.
        on_failure: ``zero`` makes a failed score a 0; otherwise it stays failed.

    Returns:
        One group a task, in order; a task whose rollout failed has an empty one.
    """
    owners = [tasks[row["prompt"]] for row in rows]
    if any("score" in row for row in rows):
        results = results_of(rows)
    else:
        results = scorer.score(
            [row["text"] for row in rows],
            [task.ground_truth for task in owners],
            [task.id for task in owners],
            messages=[task.messages for task in owners],
            data_sources=[task.data_source for task in owners],
            extras=[task.extra for task in owners],
        )
    if on_failure == "zero":
        results = [_as_zero(result) if result.kind == "failed" else result for result in results]
    groups = [Group(task, [], [], []) for task in tasks]
    for row, result in zip(rows, results, strict=True):
        group = groups[row["prompt"]]
        group.rows.append(row)
        group.scores.append(result)
        group.successes.append(_success(result, success_threshold))
    return groups


def _as_zero(result: ScoreResult) -> ScoreResult:
    """The user's own choice (``on_failure: zero``); the failure's code and reason stay with it."""
    return ScoreResult(
        kind="score",
        value=0.0,
        success=False,
        metrics=result.metrics,
        code=result.code,
        reason=result.reason,
    )


def _success(score: ScoreResult, threshold: float) -> bool | None:
    if score.kind != "score" or score.value is None:
        return None
    return score.success if score.success is not None else score.value >= threshold


def trainable_answers(
    answers: Sequence[Answer], rewards: Mapping[str, float | None], objective: str
) -> list[tuple[dict[str, Any], float]]:
    """Rows of the environment's answers with their rewards, as far as they are trained on.

    Args:
        answers: an epoch's answers.
        rewards: R by answer id, None where it is not known.
        objective: ``genenv.env_update``. ``grpo`` compares the answers to a prompt, so one that is
            alone with a reward is left out: veRL would take its R itself for the advantage.
    """
    known = [(a, r) for a in answers if (r := rewards[a.id]) is not None]
    if objective == "none":
        return []
    if objective == "grpo":
        sizes = Counter(answer.prompt for answer, _ in known)
        known = [(answer, reward) for answer, reward in known if sizes[answer.prompt] > 1]
    return [(answer.row, reward) for answer, reward in known]


def failure_counts(groups: Sequence[Group]) -> dict[str, int]:
    """Failed scores by code. Abstentions are the hook's own choice, and none of them."""
    return dict(Counter(s.code for group in groups for s in group.scores if s.code is not None))


def refuse_failed_scores(groups: Sequence[Group], hooks: Mapping[str, Any]) -> None:
    """Raise where the failed scores of a batch end the run; see ``refuse_failures``."""
    scores = [score for group in groups for score in group.scores]
    failed = [Failure(s.code, s.reason or "") for s in scores if s.code is not None]
    refuse_failures("scores", failed, len(scores), hooks)
