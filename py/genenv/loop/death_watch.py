"""Notices the death of any process that a run can't do without, and says which it was.

Ray tells a caller of a dead actor, but not one that waits for something else, and a rollout whose
engine is dead only comes back empty. Linux's /proc; nothing of Ray is asked, so a dead Ray is no
obstacle.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from genenv.driver_process import error_in_ray_logs
from genenv.errors import WorkerError
from genenv.private_folder import start_of
from genenv.watch import Watch

_POLL_SECONDS = 0.5
_ACTORS = {
    "WorkerDict": "veRL's trainer",
    "vLLMHttpServer": "vLLM's server",
    "RewardLoopWorker": "veRL's reward worker",
    "AgentLoopWorkerTQ": "veRL's agent loop",
    "TransferQueueController": "veRL's transfer queue",
    "SimpleStorageUnit": "veRL's transfer queue",
    "GlobalRequestLoadBalancer": "veRL's load balancer",
}


@dataclass(frozen=True, order=True)
class Watched:
    """A process that must live. Sorted by how much its death explains: the deepest cause first."""

    rank: int
    pid: int
    start: int
    name: str


class DeathWatch(Watch):
    """Looks twice a second whether every process that must live still does."""

    def __init__(
        self,
        fork_server: int | None,
        ray_logs: Path | None,
        hint: str,
        on_death: Callable[[], None],
    ) -> None:
        """``on_death`` is called once, in the watching thread; ``hint`` is the error's."""
        self._fork_server = fork_server
        self._ray_logs = ray_logs
        self._hint = hint
        self._watched: set[Watched] = set()
        super().__init__("death-watch", _POLL_SECONDS, on_death)

    def find(self) -> WorkerError | None:
        """The death that explains the most; new processes are watched from here on."""
        dead = sorted(one for one in self._watched if start_of(one.pid) != one.start)
        if dead:
            logs = self._ray_logs
            error = error_in_ray_logs(dead[0].pid, logs) if logs else None
            last = "" if error is None else f"; the last error in its log: {error}"
            return WorkerError(
                f"{dead[0].name} (process {dead[0].pid}) died{last}",
                code="worker-died",
                hint=self._hint,
            )
        self._watched |= set(self._find())
        return None

    def _find(self) -> Iterable[Watched]:
        for pid in descendants(os.getpid()):
            found = self._describe(pid)
            start = start_of(pid)
            if found is not None and start is not None:
                yield Watched(found[0], pid, start, found[1])

    def _describe(self, pid: int) -> tuple[int, str] | None:
        if pid == self._fork_server:
            return 0, "the fork server"
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
        except OSError:
            return None
        program = command.split("\0")[0]
        for rank, name in ((1, "gcs_server"), (2, "raylet")):
            if program.endswith(f"/{name}"):
                return rank, f"Ray's {name}"
        if program.startswith("VLLM::"):
            return 3, "vLLM's engine"
        return _actor(program)


def _actor(title: str) -> tuple[int, str] | None:
    """An actor of veRL's by the title that Ray gives its process: ``ray::Class.method``."""
    kind = title.removeprefix("ray::").split(".")[0].strip()
    if not title.startswith("ray::") or kind not in _ACTORS:
        return None
    return 4, f"{_ACTORS[kind]} ({kind})"


def descendants(pid: int) -> list[int]:
    """All processes below one, in no order."""
    children: dict[int, list[int]] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            children.setdefault(_parent_of(entry.name), []).append(int(entry.name))
    found, new = [], [pid]
    while new:
        new = [child for parent in new for child in children.get(parent, [])]
        found += new
    return found


def _parent_of(pid: str) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[1])
    except OSError:  # it has just ended
        return 0
