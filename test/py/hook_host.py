"""Starts hook hosts for the tests of this folder."""

from __future__ import annotations

import json
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "test" / "fixtures"


@dataclass(frozen=True)
class RunningHost:
    address: str
    token: str | None
    pid: int
    log: Path


@contextmanager
def hook_host(
    folder: Path, reward: str | None, *, all_hooks: bool = False, **options: Any
) -> Iterator[RunningHost]:
    """A host on a fixture hook; `all_hooks` adds sum.ts's other hooks."""
    modules = {
        "reward": None if reward is None else _file(reward, "default"),
        "environment": _file("hooks/sum.ts", "sums") if all_hooks else None,
        "curriculum": _file("hooks/sum.ts", "band") if all_hooks else None,
        "algorithms": _file("hooks/sum.ts", "algorithms") if all_hooks else None,
    }
    log = folder / "logs" / "hooks.log"
    start = {
        "modules": modules,
        "dir": str(folder / "run"),
        "logFile": str(log),
        "projectDir": str(ROOT),
        **options,
    }
    process = subprocess.Popen(
        ["node", str(ROOT / "test" / "py" / "hook_host.mjs"), json.dumps(start)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        line = json.loads(process.stdout.readline())
        assert "error" not in line, line
        yield RunningHost(line["address"], line["token"], line["pid"], log)
    finally:
        process.stdin.close()
        assert process.wait(20) == 0
        process.stdout.close()


def _file(path: str, export: str) -> dict[str, str]:
    return {"kind": "file", "path": str(FIXTURES / path), "exportName": export}
