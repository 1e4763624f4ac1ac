"""Files of a run: whole or not there, also when the process that writes one is killed."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from genenv.loop import files

SCHEMA = pa.schema([("n", pa.int64()), ("text", pa.string())])
PACKAGES = Path(__file__).parents[2] / "py"


def run_and_die(body: str, folder: Path) -> None:
    """Run `body` in a process that is killed where it calls `die()`."""
    script = f"""
    import os, signal, sys
    from pathlib import Path
    from genenv.loop import files
    import pyarrow as pa
    folder = Path(sys.argv[1])
    def die(*_args, **_kwargs):
        os.kill(os.getpid(), signal.SIGKILL)
    {body}
    """
    process = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(folder)],
        env={"PYTHONPATH": str(PACKAGES)},
        timeout=60,
    )
    assert process.returncode == -9


def visible(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if not p.name.startswith("."))


def test_text_is_written_whole_and_replaces_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "state.json"
    files.write_text(path, "first")
    files.write_text(path, "sécond\n")
    assert path.read_text(encoding="utf-8") == "sécond\n"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("rows", [[], [{"n": 1, "text": "a"}, {"n": None, "text": None}]])
def test_parquet_is_written_whole(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    path = tmp_path / "rows.parquet"
    files.write_parquet(path, rows, SCHEMA)
    assert pq.read_table(path).to_pylist() == rows
    assert list(tmp_path.iterdir()) == [path]


def test_rows_that_do_not_fit_the_schema_leave_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    files.write_parquet(path, [{"n": 1, "text": "old"}], SCHEMA)
    with pytest.raises(pa.ArrowInvalid):
        files.write_parquet(path, [{"n": "not a number", "text": "new"}], SCHEMA)
    assert pq.read_table(path).to_pylist() == [{"n": 1, "text": "old"}]


@pytest.mark.parametrize("moment", ["os.fsync", "Path.replace"])
def test_a_writer_killed_midway_leaves_the_old_text(tmp_path: Path, moment: str) -> None:
    path = tmp_path / "state.json"
    path.write_text("old")
    run_and_die(f"{moment} = die; files.write_text(folder / 'state.json', 'new' * 1000)", tmp_path)
    assert visible(tmp_path) == ["state.json"]
    assert path.read_text() == "old"
    files.write_text(path, "after")
    assert list(tmp_path.iterdir()) == [path]


def test_a_writer_killed_midway_leaves_no_new_parquet(tmp_path: Path) -> None:
    run_and_die(
        "os.fsync = die; files.write_parquet("
        "folder / 'a.parquet', [{'n': 1}], pa.schema([('n', pa.int64())]))",
        tmp_path,
    )
    assert visible(tmp_path) == []


def test_lines_are_appended_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    for i in range(3):
        files.append_json_line(path, {"step": i, "name": "ü\n"})
    lines = path.read_text().split("\n")
    assert [json.loads(line)["step"] for line in lines[:-1]] == [0, 1, 2]
    assert lines[-1] == ""


def test_a_number_that_json_cannot_carry_leaves_the_lines_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    files.append_json_line(path, {"step": 1})
    with pytest.raises(ValueError, match="JSON compliant"):
        files.append_json_line(path, {"step": 2, "loss": float("nan")})
    assert path.read_text() == '{"step": 1}\n'
