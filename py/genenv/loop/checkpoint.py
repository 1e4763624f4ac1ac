"""Checkpoints of both models and the loop's state, committed as one by a rename."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

from genenv.loop.files import sync_folder, sync_tree, write_text
from genenv.role.handle import RoleHandle

_STATE = "state.json"
_NAME = re.compile(r"epoch-(0|[1-9][0-9]*)")


def folder_for(checkpoints: Path, epoch: int) -> Path:
    return checkpoints / f"epoch-{epoch}"


def save(
    checkpoints: Path, epoch: int, roles: dict[str, RoleHandle], state: dict[str, Any]
) -> Path:
    """Write ``epoch-N``: each role as a transformers folder, the trainers' state, and the loop's.

    The folder gets its name only when everything in it is on disk, so a crash leaves a draft, or
    what it was to replace, under a name that nobody reads.
    """
    target = folder_for(checkpoints, epoch)
    draft, replaced = (checkpoints / f".epoch-{epoch}.{word}" for word in ("draft", "replaced"))
    for left in (draft, replaced):
        shutil.rmtree(left, ignore_errors=True)
    draft.mkdir(parents=True)
    for name, role in roles.items():
        role.send("save", folder=str(draft / "trainer" / name))
    for name, role in roles.items():
        role.collect()
        trainer = draft / "trainer" / name
        (trainer / "huggingface").rename(draft / name)
    write_text(draft / _STATE, json.dumps(state, allow_nan=False))
    sync_tree(draft)
    if target.exists():
        target.rename(replaced)
    draft.rename(target)
    sync_folder(checkpoints)
    shutil.rmtree(replaced, ignore_errors=True)
    return target


def latest(checkpoints: Path) -> Path | None:
    """The newest complete checkpoint; drafts are not looked at."""
    epochs = [
        int(name.removeprefix("epoch-"))
        for folder in checkpoints.glob("epoch-*")
        if _NAME.fullmatch(name := folder.name) and (folder / _STATE).is_file()
    ]
    return folder_for(checkpoints, max(epochs)) if epochs else None


def read_state(checkpoint: Path) -> dict[str, Any]:
    """The loop's state of a checkpoint."""
    return json.loads((checkpoint / _STATE).read_text())


def load_roles(checkpoint: Path, roles: dict[str, RoleHandle], step: int) -> None:
    """Restore each role's weights, optimiser and random state."""
    for name, role in roles.items():
        role.call("load", folder=str(checkpoint / "trainer" / name), step=step)
