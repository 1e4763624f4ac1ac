"""Progress out of the loop: events for TypeScript, and the same numbers in ``metrics.jsonl``."""

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from genenv.loop.files import append_json_line

Emit = Callable[[dict[str, Any]], None]


class Progress:
    """Where the loop is, told to whoever listens."""

    def __init__(self, emit: Emit, metrics_file: Path) -> None:
        self._emit = emit
        self._metrics_file = metrics_file
        # veRL's trackers (``trainer.logger``), once the role that holds them is up.
        self.track: Callable[[dict[str, float], int], None] | None = None
        self.epoch = 0
        self.step = 0

    def phase(self, phase: str, role: str | None = None, detail: str | None = None) -> None:
        """A phase begins."""
        self._send({"type": "phase", "phase": phase, "role": role, "detail": detail})

    def metrics(self, phase: str, values: dict[str, float]) -> None:
        """Numbers of ``agent``, ``environment`` or ``validation``, here and in the metrics file.

        JSON has no NaN and no infinity: what is not finite is left out, and said.
        """
        finite = {name: float(value) for name, value in values.items() if math.isfinite(value)}
        if len(finite) < len(values):
            names = ", ".join(sorted(set(values) - set(finite)))
            self.warning("number-not-finite", f"these numbers are not finite and left out: {names}")
        line = {
            "time": time.time(),
            "epoch": self.epoch,
            "step": self.step,
            "phase": phase,
        } | finite
        append_json_line(self._metrics_file, line)
        if self.track is not None:
            self.track(finite, self.step)
        self._send({"type": "metrics", "phase": phase, "values": finite})

    def task(self, **values: Any) -> None:
        """A task was tried."""
        self._send({"type": "task"} | values)

    def checkpoint(self, path: Path) -> None:
        """A checkpoint is complete."""
        self._send({"type": "checkpoint", "path": str(path)})

    def warning(self, code: str, message: str) -> None:
        """Something the user should know, that does not stop the run."""
        self._send({"type": "warning", "code": code, "message": message})

    def _send(self, event: dict[str, Any]) -> None:
        self._emit({"epoch": self.epoch, "step": self.step} | event)
