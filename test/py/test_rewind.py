"""Files of a run are those of the checkpoint it goes on from, whatever was written after it."""

from __future__ import annotations

import json
from pathlib import Path

from genenv.loop.rewind import rewind


def run_folder(folder: Path, lines: list[str]) -> Path:
    (folder / "metrics.jsonl").write_text("".join(lines))
    rollouts = folder / "rollouts"
    rollouts.mkdir()
    for name in ("epoch-000001", "epoch-000002", "validation-000000", "validation-000002"):
        (rollouts / f"{name}.parquet").write_bytes(b"rows")
    (rollouts / "mine.parquet").write_bytes(b"the user's own")
    (rollouts / ".epoch-000003.parquet.tmp").write_bytes(b"ro")
    (folder / ".tasks.parquet.tmp").write_bytes(b"ta")
    return folder


def line(epoch: int, phase: str = "agent") -> str:
    return json.dumps({"epoch": epoch, "phase": phase}) + "\n"


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_lines_and_rollouts_of_later_epochs_go(tmp_path: Path) -> None:
    run = run_folder(tmp_path, [line(0), line(1), line(2), line(2, "environment")])
    assert rewind(run, 1) == 0
    assert (run / "metrics.jsonl").read_text() == line(0) + line(1)
    left = ["epoch-000001.parquet", "mine.parquet", "validation-000000.parquet"]
    assert names(run / "rollouts") == left
    assert names(run) == ["metrics.jsonl", "rollouts"]


def test_a_run_without_a_checkpoint_begins_anew(tmp_path: Path) -> None:
    run = run_folder(tmp_path, [line(0), line(1)])
    rewind(run, None)
    assert (run / "metrics.jsonl").read_text() == ""
    assert names(run / "rollouts") == ["mine.parquet"]


def test_a_line_without_its_end_is_dropped(tmp_path: Path) -> None:
    run = run_folder(tmp_path, [line(1), line(2)[:9]])
    assert rewind(run, 2) == 0
    assert (run / "metrics.jsonl").read_text() == line(1)


def test_whole_lines_that_are_no_metrics_are_counted(tmp_path: Path) -> None:
    run = run_folder(tmp_path, [line(1), "\0\0\0\n", "{}\n", "[1]\n", line(2)])
    assert rewind(run, 2) == 3
    assert (run / "metrics.jsonl").read_text() == line(1) + line(2)


def test_files_that_are_as_they_should_be_are_left_alone(tmp_path: Path) -> None:
    run = run_folder(tmp_path, [line(1), line(2)])
    before = (run / "metrics.jsonl").stat().st_mtime_ns
    rewind(run, 2)
    assert (run / "metrics.jsonl").stat().st_mtime_ns == before


def test_a_folder_with_nothing_in_it_is_fine(tmp_path: Path) -> None:
    assert rewind(tmp_path, 3) == 0
