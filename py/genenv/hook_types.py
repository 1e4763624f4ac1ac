"""What the hooks of a run are asked and what they answer, as the training loop sees it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping


class Message(TypedDict):
    role: str
    content: str


class Seed(TypedDict):
    """A task shown to the environment model; `task` has prompt, groundTruth and other fields."""

    id: str
    task: dict[str, Any]
    successRate: float | None


@dataclass(frozen=True, slots=True)
class HookInfo:
    reward: str | None
    uses: tuple[str, ...]
    environment: str | None
    curriculum: str | None
    has_agent_prompt: bool


@dataclass(frozen=True, slots=True)
class ScoreResult:
    """One response's result, made by the reward hook (or by its host, where kind is "failed").

    kind "score" has a finite value, and success where the hook said so; "abstain" has a reason;
    "failed" has a reason and a code of wire.FAILURE_CODES.
    """

    kind: str
    value: float | None = None
    success: bool | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    code: str | None = None
    reason: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Its fields as JSON has them; ``ScoreResult(**fields)`` is the way back."""
        return {
            "kind": self.kind,
            "value": self.value,
            "success": self.success,
            "metrics": dict(self.metrics),
            "code": self.code,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class Vote:
    """What the agent's answers to a task say of its ground truth.

    Attributes:
        label: the most frequent answer; None where fewer than asked for agree.
        agreement: the share of the responses that give it, from 0 to 1.
    """

    label: str | None
    agreement: float


@dataclass(frozen=True, slots=True)
class Accepted:
    """A task the parse hook accepted, and the messages the agent gets for it."""

    task: dict[str, Any]
    messages: list[Message]


@dataclass(frozen=True, slots=True)
class Rejected:
    """What an answer holds instead of a task; `code` is the failure's where the hook failed."""

    reason: str
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a task joins the pool, with its sampling weight (finite, not negative)."""

    id: str
    keep: bool
    weight: float
    reason: str
