"""Tasks: what the agent is asked, wherever it came from (a data file, or the environment model)."""

import json
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pyarrow.parquet as pq

from genenv.errors import DataError

Message = dict[str, str]
Source = Literal["seed", "environment"]


@dataclass(frozen=True)
class Task:
    """One task.

    Attributes:
        id: stable in the run: ``seed-<row>`` or ``e<epoch>-a<answer>-t<place in the answer>``.
        source: the data file, or the environment model.
        messages: the chat the agent answers.
        ground_truth: what the reward hook compares with; any JSON value.
        task: the user's own task object (prompt, groundTruth and extras) for prompt hooks.
        data_source: veRL's ``data_source``.
        extra: veRL's ``extra_info``.
        parent: id of the environment answer that holds it, or None for data.
        parent_seeds: ids of the tasks that answer's prompt showed.
        epoch: the epoch it was written in, 0 for data.
    """

    id: str
    source: Source
    messages: list[Message]
    ground_truth: Any
    task: dict[str, Any]
    data_source: str = "genenv"
    extra: dict[str, Any] = field(default_factory=dict)
    parent: str | None = None
    parent_seeds: tuple[str, ...] = ()
    epoch: int = 0

    @property
    def prompt_text(self) -> str:
        """The messages as one text, for duplicates, the ledger and the report."""
        return "\n".join(message["content"] for message in self.messages)

    @cached_property
    def key(self) -> str:
        """The prompt, equal for prompts that differ only in case, spacing or Unicode form."""
        return normalise(self.prompt_text)


def normalise(text: str) -> str:
    """Equal for prompts that differ only in case, spacing or Unicode form."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def fields_of(task: Task) -> dict[str, Any]:
    """A task's own fields, as JSON values but for the tuple."""
    return {name: getattr(task, name) for name in _FIELDS}


def task_of(raw: dict[str, Any]) -> Task:
    """A task from what JSON made of ``fields_of``."""
    return Task(**(raw | {"parent_seeds": tuple(raw["parent_seeds"])}))


_FIELDS = tuple(each.name for each in fields(Task))


def read_tasks(files: list[str], prefix: str) -> list[Task]:
    """Every row of veRL-style Parquet files, in order.

    Raises:
        DataError: a row without messages or ground truth; the check before a run names all such.
    """
    return [task for file in files for task in _read_file(Path(file), prefix, len(files) > 1)]


def _read_file(file: Path, prefix: str, many: bool) -> Iterator[Task]:
    label = f"{prefix}-{file.stem}" if many else prefix
    # read_table would import pandas, which takes half a second.
    for index, row in enumerate(pq.ParquetFile(file).read().to_pylist()):
        reward_model = row.get("reward_model") or {}
        if not row.get("prompt") or "ground_truth" not in reward_model:
            raise DataError(
                f"{file} row {index}: needs `prompt` and `reward_model.ground_truth`",
                code="bad-row",
                hint="npx genenv check lists every bad row",
            )
        messages = _messages(row["prompt"])
        ground_truth = reward_model["ground_truth"]
        yield Task(
            id=f"{label}-{index}",
            source="seed",
            messages=messages,
            ground_truth=ground_truth,
            task={
                "prompt": messages if len(messages) > 1 else messages[0]["content"],
                "groundTruth": ground_truth,
            },
            data_source=row.get("data_source") or "genenv",
            extra=row.get("extra_info") or {},
        )


def _messages(prompt: Any) -> list[Message]:
    if isinstance(prompt, str):
        return [{"role": "user", "content": prompt}]
    return [{"role": message["role"], "content": message["content"]} for message in prompt]


def to_json(value: Any) -> str:
    """A value as compact JSON text, for Parquet columns; non-finite numbers are refused."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
