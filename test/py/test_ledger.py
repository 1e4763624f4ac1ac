"""The ledger's file: whole after each epoch while it is short, in parts when it is long."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from genenv.errors import DataError
from genenv.loop import ledger as ledger_module
from genenv.loop.ledger import Entry, Ledger, entry_for
from loop_fakes import make_task


def entries(epoch: int, count: int = 3) -> list[Entry]:
    return [
        entry_for(
            make_task(f"e{epoch}-a{i}-t0", f"prompt {i}", parent_seeds=("seed-0",), epoch=epoch),
            epoch,
            success_rate=0.5,
            responses=4,
            scored=4,
            agreement=None,
            reward=1.0,
            trained=True,
            kept=True,
            reason="kept",
        )
        for i in range(count)
    ]


def epochs_in(file: Path) -> list[int]:
    return pq.read_table(file)["epoch"].to_pylist()


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def written(folder: Path, epochs: int, long_rows: int) -> Ledger:
    ledger = Ledger(folder / "tasks.parquet", long_rows)
    for epoch in range(1, epochs + 1):
        ledger.add(epoch, entries(epoch))
    return ledger


def test_a_short_one_is_one_whole_file_after_each_epoch(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "tasks.parquet", 100)
    for epoch in (1, 2, 3):
        ledger.add(epoch, entries(epoch))
        assert files(tmp_path) == ["tasks.parquet"]
        assert len(ledger) == len(epochs_in(tmp_path / "tasks.parquet")) == 3 * epoch
    (row,) = pq.read_table(tmp_path / "tasks.parquet").slice(8).to_pylist()
    assert (row["task"], row["parent_seeds"], row["success_rate"]) == ("e3-a2-t0", ["seed-0"], 0.5)


def test_a_long_one_takes_its_parts_in_when_they_are_as_long_and_at_the_end(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "tasks.parquet", 3)
    seen = []
    for epoch in range(1, 8):
        ledger.add(epoch, entries(epoch))
        seen.append(len(files(tmp_path)) - 1)
        assert len(ledger) == 3 * epoch
    # Whole at 1, 2, 4 and 8 epochs.
    assert seen == [0, 0, 1, 0, 1, 2, 3]
    assert files(tmp_path) == [*(f"tasks-00000{e}.parquet" for e in (5, 6, 7)), "tasks.parquet"]
    ledger.merge()
    assert files(tmp_path) == ["tasks.parquet"]
    assert epochs_in(tmp_path / "tasks.parquet") == [e for e in range(1, 8) for _ in range(3)]
    ledger.merge()
    assert len(ledger) == 21


def test_an_epoch_of_no_entries_leaves_a_file_with_every_column(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "tasks.parquet")
    ledger.add(1, [])
    table = pq.read_table(tmp_path / "tasks.parquet")
    assert table.num_rows == len(ledger) == 0
    assert {"task", "success_rate", "reason", "answer"} <= set(table.column_names)


@pytest.mark.parametrize("long_rows", [0, 5, 100])
@pytest.mark.parametrize("epoch", [0, 1, 4, 5, 7])
def test_it_goes_back_to_a_checkpoint_and_on_from_there(
    tmp_path: Path, long_rows: int, epoch: int
) -> None:
    written(tmp_path, 7, long_rows)
    again = Ledger(tmp_path / "tasks.parquet", long_rows)
    again.rewind(epoch, 3 * epoch)
    assert len(again) == 3 * epoch
    again.add(epoch + 1, entries(epoch + 1, 2))
    again.merge()
    expected = [e for e in range(1, epoch + 1) for _ in range(3)] + [epoch + 1] * 2
    assert epochs_in(tmp_path / "tasks.parquet") == expected
    assert files(tmp_path) == ["tasks.parquet"]


def test_a_part_that_a_crash_left_after_it_was_taken_in_counts_once(tmp_path: Path) -> None:
    ledger = written(tmp_path, 3, 3)
    part = tmp_path / "tasks-000003.parquet"
    copy = part.read_bytes()
    ledger.merge()
    part.write_bytes(copy)
    again = Ledger(tmp_path / "tasks.parquet", 3)
    again.rewind(3, 9)
    assert files(tmp_path) == ["tasks.parquet"]


def test_a_run_without_a_ledger_begins_one(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "tasks.parquet")
    ledger.rewind(0, 0)
    ledger.add(1, entries(1))
    assert epochs_in(tmp_path / "tasks.parquet") == [1, 1, 1]


@pytest.mark.parametrize("gone", ["tasks.parquet", "tasks-000003.parquet"])
def test_one_that_lacks_rows_of_the_checkpoint_is_refused(tmp_path: Path, gone: str) -> None:
    written(tmp_path, 3, 3)
    (tmp_path / gone).unlink()
    again = Ledger(tmp_path / "tasks.parquet", 3)
    with pytest.raises(DataError, match="the checkpoint stands for 9") as caught:
        again.rewind(3, 9)
    assert caught.value.code == "ledger-short"


@pytest.mark.parametrize("group_rows", [3, 4])
def test_rows_are_moved_some_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group_rows: int
) -> None:
    monkeypatch.setattr(ledger_module, "_GROUP_ROWS", group_rows)
    written(tmp_path, 7, 3).merge()
    groups = pq.ParquetFile(tmp_path / "tasks.parquet").metadata
    sizes = [groups.row_group(i).num_rows for i in range(groups.num_row_groups)]
    assert sum(sizes) == 21
    assert 0 < min(sizes) <= max(sizes) < 2 * group_rows
    for epoch in (7, 5):
        again = Ledger(tmp_path / "tasks.parquet", 3)
        again.rewind(epoch, 3 * epoch)
        assert len(again) == 3 * epoch
