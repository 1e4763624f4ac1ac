"""Checkpoints of both models and the loop's state, committed as one by a rename."""

import hashlib
import json
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from genenv.errors import DataError, WorkerError
from genenv.loop.files import sync_folder, sync_tree, write_text
from genenv.role.handle import RoleHandle

_STATE = "state.json"
_DIGEST = "state.sha256"
_POOL = "pool.jsonl"
# The key of the pool's SHA-256 in the state.
POOL_DIGEST = "pool_sha256"
_VALIDATION = "validation.json"
_NAME = re.compile(r"epoch-(0|[1-9][0-9]*)")
# What the best checkpoint has most of.
BEST_BY = "val/success_rate"


def folder_for(checkpoints: Path, epoch: int) -> Path:
    return checkpoints / f"epoch-{epoch}"


def save(
    checkpoints: Path,
    epoch: int,
    roles: dict[str, RoleHandle],
    state: dict[str, Any],
    pool: Iterable[str] = (),
    *,
    validation: Mapping[str, float] | None = None,
    config: str | None = None,
) -> Path:
    """Write ``epoch-N``: each role as a transformers folder, the trainers' state, and the loop's.

    The folder gets its name only when everything in it is on disk, so a crash leaves a draft, or
    what it was to replace, under a name that nobody reads.

    Args:
        checkpoints: the run's folder for them.
        epoch: the last finished epoch.
        roles: the roles to save.
        state: the loop's own state, to which the pool's digest is added.
        pool: the pool's lines.
        validation: what validation gave for just these weights, None where it was not run.
        config: the run's ``config.yaml``; a resumed run is compared with it.

    Raises:
        WorkerError: it could not be written (a full disk); checkpoints before it are untouched.
    """
    target = folder_for(checkpoints, epoch)
    draft, replaced = (checkpoints / f".epoch-{epoch}.{word}" for word in ("draft", "replaced"))
    clean(checkpoints)
    try:
        draft.mkdir(parents=True)
        _write(draft, roles, state, pool)
        if validation is not None:
            write_text(draft / _VALIDATION, json.dumps(dict(validation), allow_nan=False))
        if config is not None:
            write_text(draft / "config.yaml", config)
        sync_tree(draft)
    except BaseException as error:
        # A full disk has to get the draft's space back.
        shutil.rmtree(draft, ignore_errors=True)
        if isinstance(error, OSError) or getattr(error, "code", None) == "role-failed":
            raise _not_written(target, error) from error
        raise
    if target.exists():
        target.rename(replaced)
    draft.rename(target)
    sync_folder(checkpoints)
    shutil.rmtree(replaced, ignore_errors=True)
    return target


def _write(
    draft: Path, roles: dict[str, RoleHandle], state: dict[str, Any], pool: Iterable[str]
) -> None:
    for name, role in roles.items():
        role.send("save", folder=str(draft / "trainer" / name))
    for name, role in roles.items():
        role.collect()
        trainer = draft / "trainer" / name
        (trainer / "huggingface").rename(draft / name)
    with (draft / _POOL).open("w", encoding="utf-8") as file:
        file.writelines(pool)
    text = json.dumps(state | {POOL_DIGEST: digest_of(_lines_in(draft / _POOL))}, allow_nan=False)
    write_text(draft / _STATE, text)
    write_text(draft / _DIGEST, digest_of([text]))


def digest_of(texts: Iterable[str]) -> str:
    """SHA-256 of texts one after the other."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode())
    return digest.hexdigest()


def _not_written(target: Path, error: BaseException) -> WorkerError:
    last = latest(target.parent)
    there = next(folder for folder in target.parents if folder.is_dir())
    free_gib = shutil.disk_usage(there).free / 2**30
    kept = f"the last good checkpoint is {last}" if last else "there is no checkpoint before it"
    return WorkerError(
        f"the checkpoint {target} could not be written ({free_gib:.2f} GiB are free there): "
        f"{error}; {kept}",
        code="checkpoint-failed",
        hint=f"make room on that disk, then: npx genenv resume {target.parent.parent}",
    )


def clean(checkpoints: Path) -> None:
    """Take away what a crash left: drafts, and what was on its way out."""
    for left in checkpoints.glob(".epoch-*"):
        name, _, word = left.name.removeprefix(".").partition(".")
        target = checkpoints / name
        if word == "replaced" and not target.exists() and (left / _STATE).is_file():
            left.rename(target)
        else:
            shutil.rmtree(left, ignore_errors=True)


def _complete(checkpoints: Path) -> list[int]:
    """Epochs with a complete checkpoint, ascending; drafts are not looked at."""
    return sorted(
        int(name.removeprefix("epoch-"))
        for folder in checkpoints.glob("epoch-*")
        if _NAME.fullmatch(name := folder.name) and (folder / _STATE).is_file()
    )


def latest(checkpoints: Path) -> Path | None:
    """The newest complete checkpoint."""
    epochs = _complete(checkpoints)
    return folder_for(checkpoints, epochs[-1]) if epochs else None


def best(checkpoints: Path) -> Path | None:
    """The complete checkpoint with the highest success on validation, the newest of equals."""
    known = [
        (value, epoch)
        for epoch in _complete(checkpoints)
        if (value := _validation(folder_for(checkpoints, epoch)).get(BEST_BY)) is not None
    ]
    return folder_for(checkpoints, max(known)[1]) if known else None


def _validation(checkpoint: Path) -> dict[str, float]:
    file = checkpoint / _VALIDATION
    return json.loads(file.read_text()) if file.is_file() else {}


def prune(checkpoints: Path, keep_last: int | None, *, keep_best: bool) -> list[Path]:
    """Remove all but the newest ``keep_last`` and, if asked for, the best; gives what is gone.

    ``None``, and what is below 1, keeps all, as in veRL.
    """
    if keep_last is None or keep_last < 1:
        return []
    kept = best(checkpoints) if keep_best else None
    old = [folder_for(checkpoints, epoch) for epoch in _complete(checkpoints)[:-keep_last]]
    gone = [folder for folder in old if folder != kept]
    for folder in gone:
        # A crash in the middle leaves no folder that looks complete.
        leaving = checkpoints / f".{folder.name}.old"
        folder.rename(leaving)
        shutil.rmtree(leaving, ignore_errors=True)
    return gone


def read_state(checkpoint: Path) -> dict[str, Any]:
    """The loop's state of a checkpoint.

    Raises:
        DataError: it is not what was saved.
    """
    text = (checkpoint / _STATE).read_text()
    digest = checkpoint / _DIGEST
    if digest.is_file() and digest.read_text() != digest_of([text]):
        raise DataError(
            f"{checkpoint / _STATE} is not what was saved: its SHA-256 is {digest_of([text])}, "
            f"and {_DIGEST} says {digest.read_text()[:64]}",
            code="checkpoint-damaged",
            hint=f"remove {checkpoint} to go on from the checkpoint before it",
        )
    return json.loads(text)


def read_pool(checkpoint: Path, digest: str) -> Iterator[str]:
    """The lines of a checkpoint's pool.

    Raises:
        DataError: they have another digest than the one that the state has of them, or are gone.
    """
    file = checkpoint / _POOL
    found = digest_of(_lines_in(file)) if file.is_file() else None
    if found != digest:
        raise DataError(
            f"{file} is not what was saved: its SHA-256 is {found}, and {_STATE} says {digest}",
            code="checkpoint-damaged",
            hint=f"remove {checkpoint} to go on from the checkpoint before it",
        )
    return _lines_in(file)


def _lines_in(file: Path) -> Iterator[str]:
    with file.open(encoding="utf-8", newline="\n") as lines:
        yield from lines


def load_roles(checkpoint: Path, roles: dict[str, RoleHandle]) -> None:
    """Restore each role's weights, optimiser, schedule, random state and step."""
    for name, role in roles.items():
        role.send("load", folder=str(checkpoint / "trainer" / name))
    for role in roles.values():
        role.collect()
