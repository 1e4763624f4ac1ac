"""Writing the run's folder so that nothing half-written is ever taken for a whole file."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


def write_text(path: Path, text: str) -> None:
    """Write beside, fsync, rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.tmp")
    with draft.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    sync_folder(path.parent)


def write_parquet(path: Path, rows: list[dict[str, Any]], schema: pa.Schema) -> None:
    """Write rows as Parquet: beside, fsync, rename."""
    write_tables(path, [pa.Table.from_pylist(rows, schema=schema)], schema)


def write_tables(path: Path, tables: Iterable[pa.Table], schema: pa.Schema) -> None:
    """Write tables one after the other as one Parquet file: beside, fsync, rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.tmp")
    with pq.ParquetWriter(draft, schema) as writer:
        for table in tables:
            writer.write_table(table)
    with draft.open("rb") as file:
        os.fsync(file.fileno())
    draft.replace(path)
    sync_folder(path.parent)


def append_json_line(path: Path, value: dict[str, Any]) -> None:
    """Append one line, durably; a reader takes only lines that end in a newline."""
    line = json.dumps(value, allow_nan=False) + "\n"
    with path.open("a", encoding="utf-8") as file:
        file.write(line)
        file.flush()
        os.fsync(file.fileno())


def sync_tree(folder: Path) -> None:
    """Bring a folder and everything in it to disk."""
    for path in (*folder.rglob("*"), folder):
        _sync(path)


def sync_folder(folder: Path) -> None:
    """Make a rename in ``folder`` durable."""
    _sync(folder)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
