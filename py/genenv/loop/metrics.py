"""The numbers of an epoch under veRL-like names; a mean over nothing is left out, never 0."""

from collections.abc import Sequence
from typing import Any

from genenv.loop import scoring
from genenv.loop.batch import Batch
from genenv.loop.generation import Generation
from genenv.loop.ledger import Entry
from genenv.loop.scoring import Group
from genenv.loop.state import LoopState


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _known(values: dict[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in values.items() if value is not None}


def reward_metrics(prefix: str, groups: Sequence[Group]) -> dict[str, float]:
    """Means over scored responses, and counts: of abstentions, and of failures by code."""
    scores = [s for g in groups for s in g.scores]
    scored = [s.value for s in scores if s.kind == "score" and s.value is not None]
    successes = [s for g in groups for s in g.successes if s is not None]
    counts = {f"{prefix}/failed/{k}": float(v) for k, v in scoring.failure_counts(groups).items()}
    parts: dict[str, list[float]] = {}
    for score in scores:
        for name, value in score.metrics.items():
            parts.setdefault(name, []).append(value)
    return _known(
        {
            f"{prefix}/reward_mean": _mean(scored),
            f"{prefix}/success_rate": _mean([float(s) for s in successes]),
            f"{prefix}/responses": float(len(scores)),
            f"{prefix}/scored": float(len(scored)),
            f"{prefix}/abstained": float(sum(s.kind == "abstain" for s in scores)),
        }
        | {f"{prefix}/parts/{name}": _mean(values) for name, values in parts.items()}
        | counts
    )


def agent_metrics(groups: Sequence[Group]) -> dict[str, float]:
    tokens = [row["tokens"] for g in groups for row in g.rows]
    return reward_metrics("agent", groups) | _known(
        {
            "agent/groups_without_signal": float(sum(not g.has_signal for g in groups)),
            "agent/response_tokens_mean": _mean(tokens),
        }
    )


def environment_metrics(
    generation: Generation, rewards: dict[str, float | None]
) -> dict[str, float]:
    known = [r for r in rewards.values() if r is not None]
    tokens = [answer.row["tokens"] for answer in generation.answers]
    return _known(
        {
            "env/reward_mean": _mean(known),
            "env/valid_rate": generation.valid_rate,
            "env/answers": float(len(generation.answers)),
            "env/response_tokens_mean": _mean(tokens),
        }
    ) | {f"env/rejected/{k}": float(v) for k, v in generation.rejects.items()}


def curriculum_metrics(
    generation: Generation, batch: Batch, entries: list[Entry], state: LoopState
) -> dict[str, float]:
    generated = [e for e in entries if e.source == "environment" and e.responses]
    rates = [e.success_rate for e in generated if e.success_rate is not None]
    return _known(
        {
            "tasks/generated": float(len(generation.tasks)),
            "tasks/rejected": float(sum(generation.rejects.values())),
            "tasks/kept": float(sum(e.kept for e in generated)),
            "tasks/tried": float(sum(e.responses > 0 for e in entries)),
            "tasks/success_rate": _mean(rates),
            "tasks/pool": float(len(state.pool)),
            "tasks/waiting": float(len(batch.waiting)),
        }
    ) | {f"tasks/from_{source}": float(count) for source, count in batch.mix.items()}


def update_metrics(result: dict[str, Any]) -> dict[str, float]:
    """veRL's metrics of an update under its names; its inner timings under ``timing_s/verl/``."""
    inner = {f"timing_s/verl/{name}": value for name, value in result["timing"].items()}
    counts = {"update/rows": result["rows"], "update/padding": result["padding"]}
    return result["metrics"] | inner | counts
