"""What every part of an epoch works with."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from genenv.errors import WorkerError
from genenv.hooks import HookClient
from genenv.loop.events import Progress
from genenv.loop.ledger import Ledger
from genenv.loop.python_reward import Scorer
from genenv.loop.rollouts import write_rollouts
from genenv.loop.settings import Settings
from genenv.loop.state import LoopState
from genenv.loop.tasks import Task
from genenv.role.handle import RoleHandle


@dataclass
class Timer:
    """Seconds by part, all of an epoch's together, for ``timing_s/...``."""

    seconds: dict[str, float]

    def measure(self, name: str, work: Callable[[], Any]) -> Any:
        started = time.monotonic()
        result = work()
        key = f"timing_s/{name}"
        self.seconds[key] = self.seconds.get(key, 0.0) + time.monotonic() - started
        return result


@dataclass(frozen=True)
class Context:
    """A run's parts; none of them is an epoch's own.

    Attributes:
        environment: the environment model's role, the agent's where they share a model, None where
            the agent trains on data alone.
    """

    settings: Settings
    agent: RoleHandle
    environment: RoleHandle | None
    client: HookClient
    scorer: Scorer
    seed_tasks: list[Task]
    state: LoopState
    ledger: Ledger
    progress: Progress
    stop: threading.Event

    @property
    def genenv(self) -> dict[str, Any]:
        """The resolved ``genenv`` section."""
        return self.settings.genenv

    @property
    def seed_fraction(self) -> float:
        """How much of the agent's batch is data."""
        return self.genenv["pool"]["seed_fraction"] if self.environment else 1.0

    def warn_of_failed(self, role: str, rollout: dict[str, Any]) -> None:
        """Prompts that veRL could not roll out have no rows and are lost to this epoch: say so.

        Raises:
            WorkerError: it could roll out none: the next epoch would fare no better.
        """
        if rollout["failed"] and not rollout["rows"]:
            raise WorkerError(
                f"none of the {role}'s {len(rollout['failed'])} prompts could be rolled out",
                code="rollout-failed",
                hint=f"see logs/{role}.log; a prompt over data.max_prompt_length is the usual "
                "reason",
            )
        if rollout["failed"]:
            self.progress.warning(
                "rollout-failed",
                f"{len(rollout['failed'])} of the {role}'s prompts could not be rolled out; "
                f"see logs/{role}.log",
            )

    def write_rollouts(self, epoch: int, rows: list[dict[str, Any]]) -> None:
        """An epoch's answers and responses, whole or, where it failed, as far as they go."""
        write_rollouts(self.settings.run_dir / "rollouts", f"epoch-{epoch:06d}", rows)


def update_role(
    role: RoleHandle, pairs: list[tuple[dict[str, Any], float]], estimator: str | None = None
) -> dict[str, Any]:
    """Train a role on rows of its own rollout, each with a reward; gives veRL's metrics."""
    rows = [{"key": row["key"], "tag": row["tag"]} for row, _ in pairs]
    rewards = [reward for _, reward in pairs]
    return role.call("update", rows=rows, rewards=rewards, estimator=estimator)
