"""The ledger: what became of every task and every rejected answer (``tasks.parquet``)."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from genenv.errors import DataError
from genenv.loop.files import write_parquet
from genenv.loop.tasks import Task, to_json

_SCHEMA = pa.schema(
    [
        ("epoch", pa.int32()),
        ("task", pa.string()),
        ("source", pa.string()),
        ("parent", pa.string()),
        ("parent_seeds", pa.list_(pa.string())),
        ("written_epoch", pa.int32()),
        ("prompt", pa.string()),
        ("ground_truth", pa.string()),
        ("success_rate", pa.float64()),
        ("responses", pa.int32()),
        ("scored", pa.int32()),
        ("agreement", pa.float64()),
        ("reward", pa.float64()),
        ("trained", pa.bool_()),
        ("kept", pa.bool_()),
        ("reason", pa.string()),
        ("answer", pa.string()),
    ]
)


@dataclass(frozen=True)
class Entry:
    """One try of a task in one epoch, or one answer without a valid task.

    Attributes:
        epoch: when it was tried.
        task: the task's id, None for a rejected answer.
        source: ``seed`` or ``environment``.
        parent: id of the environment answer, None for data.
        parent_seeds: ids of the tasks its prompt showed.
        written_epoch: when it was written, 0 for data.
        prompt: what the agent was asked, None for a rejected answer.
        ground_truth: JSON text, None for a rejected answer.
        success_rate: successes over scored responses (p-hat), None if none was scored.
        responses: how many were rolled out.
        scored: how many of them got a score (not abstained, not failed).
        agreement: the share of the responses that gave the ground truth, in the epoch in which
            their vote decided it (``labels: majority``); else None.
        reward: R = exp(-beta (p-hat - alpha)^2) of this try of a task that the environment wrote;
            the answer's own for a rejected answer; None where there is none.
        trained: whether its responses were in the agent's update.
        kept: whether it is in the pool after this epoch.
        reason: why it was kept, dropped or rejected; ``waiting`` for a place in a later batch.
        answer: the environment model's text, for rejected answers only.
    """

    epoch: int
    task: str | None
    source: str
    parent: str | None
    parent_seeds: tuple[str, ...]
    written_epoch: int
    prompt: str | None
    ground_truth: str | None
    success_rate: float | None
    responses: int
    scored: int
    agreement: float | None
    reward: float | None
    trained: bool
    kept: bool
    reason: str | None
    answer: str | None = None


def entry_for(task: Task, epoch: int, **values: Any) -> Entry:
    """An entry with the task's own columns filled in."""
    return Entry(
        epoch=epoch,
        task=task.id,
        source=task.source,
        parent=task.parent,
        parent_seeds=task.parent_seeds,
        written_epoch=task.epoch,
        prompt=task.prompt_text,
        ground_truth=to_json(task.ground_truth),
        **values,
    )


class Ledger:
    """All entries of a run, written as one Parquet file after each epoch."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: list[dict[str, Any]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, entries: list[Entry]) -> None:
        self._rows.extend(asdict(entry) for entry in entries)

    def write(self) -> None:
        write_parquet(self._path, self._rows, _SCHEMA)

    def read(self, rows: int) -> None:
        """Take the file's first ``rows`` entries: those that a checkpoint stands for.

        Raises:
            DataError: the file has fewer.
        """
        found = pq.read_table(self._path).to_pylist() if self._path.is_file() else []
        if len(found) < rows:
            raise DataError(
                f"{self._path} has {len(found)} rows, and the checkpoint stands for {rows}",
                code="ledger-short",
                hint="put the run's own tasks.parquet back",
            )
        self._rows = found[:rows]
