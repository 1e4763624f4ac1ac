"""What the ends of a driver process share: its last words, its exit code, and its end."""

import contextlib
import subprocess
from pathlib import Path

_LOG_TAIL_LINES = 15


def last_words(log_file: Path) -> str:
    """The last lines of a process's log, indented, each cut to 300 characters."""
    with contextlib.suppress(OSError):
        lines = log_file.read_text(errors="replace").splitlines()
        return "\n".join(f"  {line[:300]}" for line in lines[-_LOG_TAIL_LINES:])
    return "  (no log)"


def exit_code(process: subprocess.Popen[bytes]) -> int | str:
    """The exit code of a process that is on its way out, or a word for not knowing it after 2 s."""
    try:
        return process.wait(timeout=2)
    except subprocess.TimeoutExpired:
        return "not known yet"


def end(process: subprocess.Popen[bytes], grace_s: float) -> None:
    """Wait for a process that was asked to end, and kill it where it takes over ``grace_s``."""
    try:
        process.wait(timeout=grace_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def last_line(text: str) -> str:
    """The last line that says something: the point of a long error message."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1] if lines else "(no message)"
