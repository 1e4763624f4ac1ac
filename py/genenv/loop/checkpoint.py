"""Checkpoints of both models and the loop's state, committed as one by a rename."""

import json
import shutil
from pathlib import Path
from typing import Any

from genenv.loop.files import sync_folder, write_text
from genenv.role.handle import RoleHandle

_STATE = "state.json"


def folder_for(checkpoints: Path, epoch: int) -> Path:
    return checkpoints / f"epoch-{epoch}"


def save(
    checkpoints: Path, epoch: int, roles: dict[str, RoleHandle], state: dict[str, Any]
) -> Path:
    """Write ``epoch-N``: each role as a transformers folder, the trainers' state, and the loop's.

    The folder gets its name only when everything in it is on disk, so a crash leaves a draft that
    nobody reads.
    """
    target = folder_for(checkpoints, epoch)
    draft = checkpoints / f".epoch-{epoch}.draft"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    for name, role in roles.items():
        role.send("save", folder=str(draft / "trainer" / name))
    for name, role in roles.items():
        role.collect()
        trainer = draft / "trainer" / name
        (trainer / "huggingface").rename(draft / name)
    write_text(draft / _STATE, json.dumps(state, allow_nan=False))
    if target.exists():
        shutil.rmtree(target)
    draft.rename(target)
    sync_folder(checkpoints)
    return target


def latest(checkpoints: Path) -> Path | None:
    """The newest complete checkpoint; drafts are not looked at."""
    complete = [p for p in checkpoints.glob("epoch-*") if (p / _STATE).is_file()]
    return max(complete, key=lambda p: int(p.name.split("-")[1]), default=None)


def read_state(checkpoint: Path) -> dict[str, Any]:
    """The loop's state of a checkpoint."""
    return json.loads((checkpoint / _STATE).read_text())


def load_roles(checkpoint: Path, roles: dict[str, RoleHandle], step: int) -> None:
    """Restore each role's weights, optimiser and random state."""
    for name, role in roles.items():
        role.call("load", folder=str(checkpoint / "trainer" / name), step=step)
