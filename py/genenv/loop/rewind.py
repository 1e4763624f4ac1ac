"""The run's files as they were at a checkpoint: what later epochs left in them is taken away."""

import json
import re
from pathlib import Path

from genenv.loop.files import write_text

_ROLLOUTS = re.compile(r"(?:epoch|validation)-(\d+)\.parquet")


def rewind(run_dir: Path, epoch: int | None) -> int:
    """Drop metrics and rollouts of epochs after ``epoch``; None drops all: no epoch was saved.

    Returns:
        How many lines of the metrics file could not be read and are dropped too (a line without
        its end, as a crash leaves it, is not counted).
    """
    last = -1 if epoch is None else epoch
    for file in (run_dir / "rollouts").glob("*.parquet"):
        match = _ROLLOUTS.fullmatch(file.name)
        if match and int(match[1]) > last:
            file.unlink()
    for folder in (run_dir, run_dir / "rollouts"):
        for draft in folder.glob(".*.tmp"):
            draft.unlink()
    return _rewind_metrics(run_dir / "metrics.jsonl", last)


def _rewind_metrics(file: Path, last: int) -> int:
    if not file.is_file():
        return 0
    text = file.read_text(encoding="utf-8", errors="replace")
    kept, unreadable = [], 0
    for line in text.splitlines(keepends=True):
        if not line.endswith("\n"):
            continue
        try:
            if json.loads(line)["epoch"] <= last:
                kept.append(line)
        except (ValueError, KeyError, TypeError):
            unreadable += 1
    if "".join(kept) != text:
        write_text(file, "".join(kept))
    return unreadable
