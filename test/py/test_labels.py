"""Labels by a vote of the agent's responses: who is scored by what, and what has no label."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from genenv.hooks import Accepted, Rejected, ScoreResult, Vote
from genenv.loop.labels import score_with_labels
from genenv.loop.scoring import Group
from genenv.loop.tasks import Task
from loop_world import World, WorldClient
from pytest import approx


def task(name: str, truth: str | None) -> Task:
    message = {"role": "user", "content": name}
    return Task(name, "environment", [message], truth, {"prompt": name, "groundTruth": truth})


def row(prompt: int, text: str) -> dict[str, Any]:
    return {"prompt": prompt, "key": f"{prompt}-{text}", "text": text}


class Voter:
    """Answers with votes made beforehand, and keeps what it was asked."""

    def __init__(self, *votes: Vote) -> None:
        self.votes = list(votes)
        self.asked: list[Any] = []

    def labels(self, responses: list[list[str]], min_agreement: float) -> list[Vote]:
        self.asked.append((responses, min_agreement))
        return self.votes


def equal(tasks: Any, rows: list[dict[str, Any]]) -> list[Group]:
    """Scores 1 where a response is the task's ground truth."""
    groups = []
    for place, one in enumerate(tasks):
        own = [r for r in rows if r["prompt"] == place]
        right = [r["text"] == one.ground_truth for r in own]
        scores = [ScoreResult("score", float(is_right), None, {}) for is_right in right]
        groups.append(Group(one, own, scores, list(right)))
    return groups


def test_responses_are_scored_by_the_label_they_voted_for() -> None:
    client = Voter(Vote("7", 2 / 3))
    tasks = [task("known", "1"), task("open", None)]
    rows = [row(0, "1"), row(0, "2"), row(1, "7"), row(1, "7"), row(1, "8")]
    groups = score_with_labels(client, equal, tasks, rows, min_agreement=0.5)  # type: ignore[arg-type]
    assert client.asked == [([["7", "7", "8"]], 0.5)]
    assert [group.success_rate for group in groups] == [0.5, approx(2 / 3)]
    assert [group.agreement for group in groups] == [None, 2 / 3]
    labelled = groups[1].task
    assert (labelled.ground_truth, labelled.task["groundTruth"]) == ("7", "7")
    # The trainer's rows themselves, not copies.
    assert all(r in rows and any(r is mine for mine in rows) for g in groups for r in g.rows)


def test_a_task_whose_responses_disagree_has_no_score() -> None:
    client = Voter(Vote(None, 0.25))
    tasks = [task("open", None), task("known", "1")]
    rows = [row(0, "1"), row(0, "2"), row(1, "1"), row(1, "2")]
    first, second = score_with_labels(client, equal, tasks, rows, min_agreement=0.5)  # type: ignore[arg-type]
    assert (first.success_rate, first.trainable(), first.agreement) == (None, [], 0.25)
    assert [score.reason for score in first.scores] == ["low-agreement", "low-agreement"]
    assert (second.task.id, second.success_rate) == ("known", 0.5)


def test_nothing_is_asked_where_every_task_has_a_ground_truth_or_no_response() -> None:
    client = Voter()
    tasks = [task("known", "1"), task("lost", None)]
    groups = score_with_labels(client, equal, tasks, [row(0, "1")], min_agreement=0.5)  # type: ignore[arg-type]
    assert (client.asked, [len(group.rows) for group in groups]) == ([], [1, 0])


class OpenClient(WorldClient):
    """The environment's tasks have no ground truth; those with an even number get one by vote."""

    def parse(self, answers: list[str], seeds: list[Any]) -> list[list[Accepted | Rejected]]:
        return [
            [
                Accepted(item.task | {"groundTruth": None}, item.messages)
                if isinstance(item, Accepted)
                else item
                for item in items
            ]
            for items in super().parse(answers, seeds)
        ]

    def labels(self, responses: list[list[str]], min_agreement: float) -> list[Vote]:
        assert min_agreement == 0.5
        return [
            Vote("1", 0.75) if int(texts[0]) % 2 == 0 else Vote(None, 0.25) for texts in responses
        ]


def test_a_run_trains_on_labelled_tasks_and_tells_the_agreement(tmp_path: Path) -> None:
    world = World(tmp_path, labels="majority")
    world.client = OpenClient()
    world.run(3)
    written = [r for r in world.ledger() if r["source"] == "environment" and r["responses"]]
    voted = [r for r in written if r["agreement"] == 0.75]
    open_still = [r for r in written if r["reason"] == "low-agreement"]
    assert voted
    assert open_still
    assert {r["ground_truth"] for r in voted} == {'"1"'}
    for entry in open_still:
        assert (entry["trained"], entry["kept"], entry["success_rate"]) == (False, False, None)
        assert entry["agreement"] == 0.25
    # A kept task keeps its label: when the pool brings it again, nobody votes.
    again = [r for r in written if r["epoch"] > r["written_epoch"] and r["agreement"] is None]
    assert all(r["ground_truth"] == '"1"' for r in again)


def test_without_votes_a_task_without_a_ground_truth_is_rejected(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.client = OpenClient()
    world.run(1)
    reasons = {r["reason"] for r in world.ledger() if r["source"] == "environment"}
    assert "no-ground-truth" in reasons
    assert not [r for r in world.ledger() if r["source"] == "environment" and r["responses"]]
