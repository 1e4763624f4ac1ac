"""A thread that looks again and again for what a run can't go on without, and keeps what it saw."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable

from genenv.errors import WorkerError


class Watch(ABC):
    """Looks every ``every_seconds``; ``cause`` looks at once.

    A subclass sets what ``find`` needs before it calls this ``__init__``, which starts the thread.
    """

    def __init__(self, name: str, every_seconds: float, on_cause: Callable[[], None]) -> None:
        """``on_cause`` is called once, in the watching thread."""
        self._every_seconds = every_seconds
        self._on_cause = on_cause
        self._cause: WorkerError | None = None
        self._looking = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @abstractmethod
    def find(self) -> WorkerError | None:
        """What is missing now; called by one thread at a time, until it has found something."""

    def cause(self) -> WorkerError | None:
        """What was seen first, or None; something of just now is seen too."""
        if not self._ended.is_set():
            self._look()
        return self._cause

    def stop(self) -> None:
        """From here on what is watched may go."""
        self._ended.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self._every_seconds):
            self._look()
            if self._cause is not None:
                self._on_cause()
                return

    def _look(self) -> None:
        with self._looking:
            if self._cause is None:
                self._cause = self.find()
