"""The ledger: what became of every task and every rejected answer (``tasks.parquet``)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from genenv.errors import DataError
from genenv.loop.files import write_parquet, write_tables
from genenv.loop.tasks import Task, to_json

_LONG_ROWS = 50_000
_GROUP_ROWS = 65_536
_PART = re.compile(r"\w+-\d{6,}")

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
    """All entries of a run: ``tasks.parquet``, which is written anew after each epoch.

    That of a long run gets each epoch as a file of its own, ``tasks-<epoch>.parquet``, and takes
    these in when they hold as many rows as it has, and at the end of the run: the work grows with
    the rows, and none of them stays in memory.
    """

    def __init__(self, path: Path, long_rows: int = _LONG_ROWS) -> None:
        """``long_rows``: up to this many the file is always whole."""
        self._path = path
        self._long_rows = long_rows
        self._whole = self._loose = 0

    def __len__(self) -> int:
        return self._whole + self._loose

    def add(self, epoch: int, entries: list[Entry]) -> None:
        """Write what became of an epoch's tasks."""
        part = self._path.with_stem(f"{self._path.stem}-{epoch:06d}")
        write_parquet(part, [vars(entry) for entry in entries], _SCHEMA)
        self._loose += len(entries)
        if len(self) <= self._long_rows or self._loose >= self._whole:
            self.merge()

    def merge(self) -> None:
        """Take the parts into the file."""
        parts = self._parts()
        if not parts:
            return
        files = [self._path, *parts] if self._path.is_file() else parts
        write_tables(self._path, _tables(files), _SCHEMA)
        for part in parts:
            part.unlink()
        self._whole, self._loose = len(self), 0

    def rewind(self, epoch: int, rows: int) -> None:
        """Drop what came after an epoch whose checkpoint stands for so many rows.

        Raises:
            DataError: there are not as many.
        """
        whole = _last_epoch(self._path)
        for part in self._parts():
            # One that a crash left behind is in the file already.
            if _epoch_of(part) > epoch or _epoch_of(part) <= whole:
                part.unlink()
        if whole > epoch:
            write_tables(self._path, _tables([self._path], epoch), _SCHEMA)
        self._whole = _rows_in(self._path)
        self._loose = sum(_rows_in(part) for part in self._parts())
        if len(self) != rows:
            raise DataError(
                f"{self._path} has {len(self)} rows up to epoch {epoch}, and the checkpoint "
                f"stands for {rows}",
                code="ledger-short",
                hint="put the run's own tasks.parquet back",
            )

    def _parts(self) -> list[Path]:
        found = self._path.parent.glob(f"{self._path.stem}-*{self._path.suffix}")
        return sorted((part for part in found if _PART.fullmatch(part.stem)), key=_epoch_of)


def _epoch_of(part: Path) -> int:
    return int(part.stem.rpartition("-")[2])


def _rows_in(file: Path) -> int:
    return pq.read_metadata(file).num_rows if file.is_file() else 0


def _last_epoch(file: Path) -> int:
    """The highest epoch in a file, 0 in an empty one; the entries are in order."""
    if not _rows_in(file):
        return 0
    parquet = pq.ParquetFile(file)
    last = parquet.read_row_group(parquet.num_row_groups - 1, columns=["epoch"])
    return last["epoch"][-1].as_py()


def _tables(files: Sequence[Path], up_to_epoch: int | None = None) -> Iterator[pa.Table]:
    """The rows of files, some thousands at a time; never an empty table."""
    waiting: list[pa.Table] = []
    for file in files:
        with pq.ParquetFile(file) as parquet:
            # Not `iter_batches`, which keeps what it has read of every group until the end.
            for group in range(parquet.num_row_groups):
                table = parquet.read_row_group(group)
                if up_to_epoch is not None:
                    table = table.filter(pc.less_equal(table["epoch"], up_to_epoch))
                if len(table):
                    waiting.append(table)
                if sum(map(len, waiting)) >= _GROUP_ROWS:
                    yield pa.concat_tables(waiting)
                    waiting = []
    if waiting:
        yield pa.concat_tables(waiting)
