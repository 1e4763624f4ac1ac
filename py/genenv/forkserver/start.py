"""Start the fork server and make the executable that stands for ``python``."""

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from genenv.errors import WorkerError
from genenv.forkserver.server import PRELOAD

_LAST_CHILDREN_SECONDS = 4.0
_CLIENT = Path(__file__).with_name("client.py")


class ForkServer:
    """A running fork server; owns its process and its two files in the run's private folder."""

    def __init__(
        self,
        folder: Path,
        environment: dict[str, str],
        log_file: Path,
        modules: Sequence[str] = PRELOAD,
    ) -> None:
        self.executable = folder / "python"
        self._socket = folder / "fork.sock"
        self._log_file = log_file
        command = f"exec {shlex.quote(sys.executable)} -S -E {shlex.quote(str(_CLIENT))}"
        self.executable.write_text(f'#!/bin/sh\n{command} {shlex.quote(str(self._socket))} "$@"\n')
        self.executable.chmod(0o700)
        with log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "genenv.forkserver.server",
                    str(self._socket),
                    str(os.getpid()),
                    *modules,
                ],
                env=environment | {"GENENV_FORK_SERVER": str(self.executable)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_until_ready(self, timeout_s: float = 180.0) -> None:
        """Return once it accepts requests.

        Raises:
            WorkerError: it ended, or was not ready in time; names the log.
        """
        deadline = time.monotonic() + timeout_s
        while not self._socket.exists():
            if self._process.poll() is not None:
                raise WorkerError(
                    f"the fork server ended while starting (exit code {self._process.returncode})",
                    code="fork-server-died",
                    hint=f"see {self._log_file}; or set genenv.fast_start=false",
                )
            if time.monotonic() > deadline:
                raise WorkerError(
                    f"the fork server was not ready after {timeout_s:.0f} s",
                    code="fork-server-late",
                    hint=f"see {self._log_file}; or set genenv.fast_start=false",
                )
            time.sleep(0.05)

    def stop(self) -> None:
        """End it; every process it forked gets SIGKILL from the kernel (PR_SET_PDEATHSIG).

        Children that are on their way out come first: Python's resource trackers unlink the
        semaphores of killed processes.
        """
        deadline = time.monotonic() + _LAST_CHILDREN_SECONDS
        while time.monotonic() < deadline and self._has_children():
            time.sleep(0.05)
        self._process.kill()
        self._process.wait()

    def _has_children(self) -> bool:
        try:
            return bool(psutil.Process(self.pid).children())
        except psutil.NoSuchProcess:
            return False
