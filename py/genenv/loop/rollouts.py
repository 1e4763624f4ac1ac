"""The rollouts of an epoch as Parquet: each response and answer, with its score or why not."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from genenv.loop.files import write_parquet

_SCHEMA = pa.schema(
    [
        ("epoch", pa.int32()),
        ("role", pa.string()),
        ("phase", pa.string()),
        ("task", pa.string()),
        ("sample", pa.int32()),
        ("prompt", pa.string()),
        ("response", pa.string()),
        ("response_tokens", pa.int32()),
        ("ground_truth", pa.string()),
        ("data_source", pa.string()),
        ("extra", pa.string()),
        ("score", pa.float64()),
        ("success", pa.bool_()),
        ("parts", pa.string()),
        ("failure", pa.string()),
        ("reason", pa.string()),
    ]
)


def write_rollouts(folder: Path, name: str, rows: list[dict[str, Any]]) -> None:
    """Write one file of rollouts.

    Args:
        folder: the run's ``rollouts`` folder.
        name: file name without ending, ``epoch-000001`` or ``validation-000000``.
        rows: dicts with the columns of the schema; a missing one is null.
    """
    write_parquet(folder / f"{name}.parquet", rows, _SCHEMA)
