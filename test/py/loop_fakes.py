"""Stands for the hook plane and the roles, so that the loop's parts can be tried without them."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from genenv.hooks import Accepted, Rejected, ScoreResult
from genenv.loop.scoring import Group
from genenv.loop.tasks import Task


def seed_task(number: int) -> Task:
    return make_task(f"seed-{number}", f"question {number}", source="seed")


def make_task(task_id: str, prompt: str, **more: Any) -> Task:
    """A task that the environment model wrote, unless `source` says otherwise."""
    fields: dict[str, Any] = {"source": "environment", "ground_truth": "7"} | more
    return Task(
        id=task_id,
        messages=[{"role": "user", "content": prompt}],
        task={"prompt": prompt, "groundTruth": fields["ground_truth"]},
        **fields,
    )


def accepted(prompt: str, **extra: Any) -> Accepted:
    task = {"prompt": prompt, "groundTruth": 7} | extra
    return Accepted(task=task, messages=[{"role": "user", "content": prompt}])


def row(prompt: int, text: str, key: str | None = None) -> dict[str, Any]:
    """A row of a rollout, as a role gives it."""
    return {
        "prompt": prompt,
        "key": key or f"u{prompt}_{text}_0",
        "tag": {"response_len": 1},
        "text": text,
        "tokens": len(text),
    }


def scored(value: float, success: bool | None = None, **metrics: float) -> ScoreResult:
    return ScoreResult(kind="score", value=value, success=success, metrics=metrics)


def abstained(reason: str = "no unit") -> ScoreResult:
    return ScoreResult(kind="abstain", reason=reason)


def failed(code: str = "threw", reason: str = "TypeError: x is undefined") -> ScoreResult:
    return ScoreResult(kind="failed", code=code, reason=reason)


def group(task: Task, *scores: ScoreResult, threshold: float = 1.0) -> Group:
    """A task's group with these scores; its responses are "r0", "r1", ..."""
    successes = [
        None if s.kind != "score" else s.success if s.success is not None else s.value >= threshold
        for s in scores
    ]
    rows = [row(0, f"r{i}", f"{task.id}-r{i}") for i in range(len(scores))]
    return Group(task=task, rows=rows, scores=list(scores), successes=successes)


class FakeClient:
    """Answers the loop's calls from dictionaries by text, and keeps what it was asked."""

    def __init__(
        self,
        scores: dict[str, ScoreResult] | None = None,
        parsed: dict[str, list[Accepted | Rejected]] | None = None,
    ) -> None:
        self.scores = scores or {}
        self.parsed = parsed or {}
        self.asked: list[dict[str, Any]] = []

    def score(
        self, responses: list[str], ground_truths: list[Any], task_ids: list[str], **columns: Any
    ) -> list[ScoreResult]:
        self.asked.append({"ground_truths": ground_truths, "task_ids": task_ids} | columns)
        return [self.scores[response] for response in responses]

    def parse(
        self, answers: list[str], seeds: list[list[dict[str, Any]]]
    ) -> list[list[Accepted | Rejected]]:
        self.asked.append({"seeds": seeds})
        return [self.parsed[answer] for answer in answers]

    def environment_prompts(
        self,
        seeds: list[list[dict[str, Any]]],
        epoch: int,
        target_success: float,
        random_seed: int,
    ) -> list[list[dict[str, str]]]:
        self.asked.append({"epoch": epoch, "target": target_success, "random_seed": random_seed})
        return [
            [{"role": "user", "content": "like " + ", ".join(s["id"] for s in shown)}]
            for shown in seeds
        ]


class FakeRole:
    """Rolls out given texts, and saves a folder the way a role does."""

    def __init__(self, texts: list[str] | None = None, *, fails: bool = False) -> None:
        self._texts = texts or []
        self._fails = fails
        self._pending: list[tuple[str, dict[str, Any]]] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def rollout(self, stop: threading.Event, **args: Any) -> dict[str, Any]:
        self.calls.append(("rollout", args))
        if stop.is_set():
            raise InterruptedError("stopped during the environment's rollout")
        assert len(self._texts) == len(args["prompts"]) * args["n"]
        rows = [
            row(place // args["n"], text)
            for place, text in zip(
                range(len(args["prompts"]) * args["n"]), self._texts, strict=True
            )
        ]
        return {"rows": rows, "failed": []}

    def send(self, call: str, **args: Any) -> None:
        self.calls.append((call, args))
        self._pending.append((call, args))

    def collect(self) -> None:
        call, args = self._pending.pop(0)
        if self._fails:
            raise RuntimeError("disk full")
        if call == "save":
            folder = Path(args["folder"])
            (folder / "huggingface").mkdir(parents=True)
            (folder / "huggingface" / "config.json").write_text("{}")
            (folder / "optim.pt").write_bytes(b"state")

    def call(self, name: str, **args: Any) -> None:
        self.send(name, **args)
        self.collect()
