"""Checkpoints with stand-in roles: a rename commits, and what a crash leaves is not looked at."""

from __future__ import annotations

import errno
import os
import resource
from pathlib import Path

import pytest
from genenv.errors import DataError, WorkerError
from genenv.loop import checkpoint
from loop_fakes import FakeRole

# SHA-256 of nothing.
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def save(folder: Path, epoch: int, **roles: FakeRole) -> Path:
    given = roles or {"agent": FakeRole(), "environment": FakeRole()}
    return checkpoint.save(folder, epoch, given, {"epoch": epoch})  # type: ignore[arg-type]


def test_a_checkpoint_holds_both_models_their_trainers_and_the_state(tmp_path: Path) -> None:
    saved = save(tmp_path, 3)
    assert saved == tmp_path / "epoch-3"
    inside = sorted(str(p.relative_to(saved)) for p in saved.rglob("*") if p.is_file())
    assert inside == [
        "agent/config.json",
        "environment/config.json",
        "pool.jsonl",
        "state.json",
        "state.sha256",
        "trainer/agent/optim.pt",
        "trainer/environment/optim.pt",
    ]
    assert checkpoint.read_state(saved) == {"epoch": 3, "pool_sha256": EMPTY}
    assert list(checkpoint.read_pool(saved, EMPTY)) == []
    assert list(tmp_path.iterdir()) == [saved]


def test_both_roles_are_asked_to_save_before_either_is_waited_for(tmp_path: Path) -> None:
    order: list[str] = []

    class Slow(FakeRole):
        def send(self, call: str, **args: object) -> None:
            order.append("send")
            super().send(call, **args)

        def collect(self) -> None:
            order.append("collect")
            super().collect()

    save(tmp_path, 1, agent=Slow(), environment=Slow())
    assert order == ["send", "send", "collect", "collect"]


def test_a_run_of_one_role_saves_that_one(tmp_path: Path) -> None:
    saved = save(tmp_path, 1, agent=FakeRole())
    assert (saved / "agent").is_dir()
    assert not (saved / "environment").exists()


def test_the_latest_is_the_highest_epoch_not_the_last_by_name(tmp_path: Path) -> None:
    assert checkpoint.latest(tmp_path) is None
    assert checkpoint.latest(tmp_path / "not-there") is None
    for epoch in (9, 10, 2):
        save(tmp_path, epoch)
    assert checkpoint.latest(tmp_path) == tmp_path / "epoch-10"


def test_a_role_that_fails_to_save_leaves_a_draft_that_nobody_reads(tmp_path: Path) -> None:
    save(tmp_path, 1)
    with pytest.raises(RuntimeError, match="disk full"):
        save(tmp_path, 2, agent=FakeRole(), environment=FakeRole(fails=True))
    assert checkpoint.latest(tmp_path) == tmp_path / "epoch-1"
    assert not (tmp_path / "epoch-2").exists()
    assert save(tmp_path, 2) == checkpoint.latest(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["epoch-1", "epoch-2"]


def test_a_state_that_json_cannot_carry_commits_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        checkpoint.save(tmp_path, 1, {"agent": FakeRole()}, {"weight": float("inf")})  # type: ignore[dict-item]
    assert checkpoint.latest(tmp_path) is None


def test_the_rename_is_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rename = Path.rename

    def refuse_the_commit(self: Path, target: Path) -> Path:
        if Path(target).name == "epoch-2":
            assert checkpoint.latest(tmp_path) == tmp_path / "epoch-1"
            raise KeyboardInterrupt
        return rename(self, target)

    save(tmp_path, 1)
    monkeypatch.setattr(Path, "rename", refuse_the_commit)
    with pytest.raises(KeyboardInterrupt):
        save(tmp_path, 2)
    assert checkpoint.latest(tmp_path) == tmp_path / "epoch-1"


def test_everything_is_on_disk_before_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    fsync, rename = os.fsync, Path.rename

    def note(handle: int) -> None:
        synced.append(Path(f"/proc/self/fd/{handle}").readlink().name)
        fsync(handle)

    def note_rename(self: Path, target: Path) -> Path:
        synced.append(f"renamed to {Path(target).name}")
        return rename(self, target)

    monkeypatch.setattr(os, "fsync", note)
    monkeypatch.setattr(Path, "rename", note_rename)
    save(tmp_path, 1, agent=FakeRole())
    commit = synced.index("renamed to epoch-1")
    assert {"state.json", "optim.pt", "config.json", "agent"} <= set(synced[:commit])
    assert synced[commit + 1 :] == [tmp_path.name]


def test_a_checkpoint_that_is_replaced_is_never_seen_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path, 1)
    save(tmp_path, 2)
    remove = checkpoint.shutil.rmtree

    def die_while_removing(path: Path, **options: object) -> None:
        if (Path(path) / "agent" / "config.json").exists():
            (Path(path) / "agent" / "config.json").unlink()
            raise KeyboardInterrupt
        remove(path, **options)

    monkeypatch.setattr(checkpoint.shutil, "rmtree", die_while_removing)
    with pytest.raises(KeyboardInterrupt):
        save(tmp_path, 2)
    found = checkpoint.latest(tmp_path)
    assert found is not None
    assert (found / "agent" / "config.json").exists()


def test_a_folder_without_a_state_is_not_a_checkpoint(tmp_path: Path) -> None:
    save(tmp_path, 1)
    (tmp_path / "epoch-5" / "agent").mkdir(parents=True)
    assert checkpoint.latest(tmp_path) == tmp_path / "epoch-1"


def test_a_folder_that_the_user_renamed_is_not_looked_at(tmp_path: Path) -> None:
    save(tmp_path, 1)
    save(tmp_path, 7).rename(tmp_path / "epoch-best")
    assert checkpoint.latest(tmp_path) == tmp_path / "epoch-1"


def test_each_role_is_restored_from_its_own_trainers_folder(tmp_path: Path) -> None:
    agent, environment = FakeRole(), FakeRole()
    roles = {"agent": agent, "environment": environment}
    checkpoint.load_roles(tmp_path / "epoch-4", roles)  # type: ignore[arg-type]
    folder = tmp_path / "epoch-4" / "trainer"
    assert agent.calls == [("load", {"folder": str(folder / "agent")})]
    assert environment.calls == [("load", {"folder": str(folder / "environment")})]


# -- a full disk, and damage -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        WorkerError("the agent role failed: OSError: No space left", code="role-failed"),
    ],
)
def test_a_full_disk_names_the_path_and_keeps_the_last_good_checkpoint(
    tmp_path: Path, error: Exception
) -> None:
    class Full(FakeRole):
        def collect(self) -> None:
            super().collect()
            raise error

    checkpoints = tmp_path / "checkpoints"
    save(checkpoints, 1)
    with pytest.raises(WorkerError) as caught:
        save(checkpoints, 2, agent=Full())
    assert caught.value.code == "checkpoint-failed"
    assert str(checkpoints / "epoch-2") in caught.value.message
    assert f"the last good checkpoint is {checkpoints / 'epoch-1'}" in caught.value.message
    assert f"npx genenv resume {tmp_path}" in str(caught.value.hint)
    # The draft's space is free again.
    assert [p.name for p in checkpoints.iterdir()] == ["epoch-1"]


def test_what_the_kernel_refuses_to_write_leaves_the_last_good_checkpoint_alone(
    tmp_path: Path,
) -> None:
    checkpoints = tmp_path / "checkpoints"
    good = save(checkpoints, 1)
    before = {path: path.read_bytes() for path in good.rglob("*") if path.is_file()}
    roles = {"agent": FakeRole()}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(WorkerError) as caught:
            checkpoint.save(checkpoints, 2, roles, {"pool": "x" * 10_000})  # type: ignore[arg-type]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (caught.value.code, "File too large" in caught.value.message) == (
        "checkpoint-failed",
        True,
    )
    assert {path: path.read_bytes() for path in good.rglob("*") if path.is_file()} == before
    assert checkpoint.latest(checkpoints) == good
    # With room again the same epoch is saved whole.
    assert checkpoint.latest(checkpoints) != save(checkpoints, 2)
    assert [path.name for path in sorted(checkpoints.iterdir())] == ["epoch-1", "epoch-2"]


def test_a_role_that_died_while_saving_says_so_itself(tmp_path: Path) -> None:
    class Dying(FakeRole):
        def collect(self) -> None:
            raise WorkerError("the agent role's process ended", code="role-died")

    with pytest.raises(WorkerError, match="process ended"):
        save(tmp_path, 1, agent=Dying())
    assert list(tmp_path.iterdir()) == []


def test_a_state_that_was_changed_on_disk_is_refused(tmp_path: Path) -> None:
    saved = save(tmp_path, 1)
    (saved / "state.json").write_text('{"epoch": 2}')
    with pytest.raises(DataError, match="not what was saved") as caught:
        checkpoint.read_state(saved)
    assert caught.value.code == "checkpoint-damaged"


# -- what a crash leaves, and what is kept ---------------------------------------------------------


def test_cleaning_takes_drafts_away_and_puts_back_what_was_being_replaced(tmp_path: Path) -> None:
    save(tmp_path, 1)
    save(tmp_path, 2).rename(tmp_path / ".epoch-2.replaced")
    (tmp_path / ".epoch-3.draft" / "agent").mkdir(parents=True)
    save(tmp_path / "other", 9).rename(tmp_path / ".epoch-9.old")
    (tmp_path / "other").rmdir()
    checkpoint.clean(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["epoch-1", "epoch-2"]
    assert checkpoint.latest(tmp_path) == tmp_path / "epoch-2"


def save_with(folder: Path, rates: dict[int, float | None]) -> None:
    for epoch, rate in rates.items():
        validation = None if rate is None else {"val/success_rate": rate}
        roles = {"agent": FakeRole()}
        checkpoint.save(folder, epoch, roles, {}, validation=validation)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("keep_last", "keep_best", "left"),
    [
        (None, True, [1, 2, 3, 4]),
        (0, False, [1, 2, 3, 4]),
        (9, False, [1, 2, 3, 4]),
        (2, False, [3, 4]),
        (1, True, [2, 4]),
        (3, True, [2, 3, 4]),
    ],
)
def test_the_last_few_and_the_best_are_kept(
    tmp_path: Path, keep_last: int | None, keep_best: bool, left: list[int]
) -> None:
    save_with(tmp_path, {1: 0.5, 2: 0.75, 3: None, 4: 0.25})
    checkpoint.prune(tmp_path, keep_last, keep_best=keep_best)
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"epoch-{n}" for n in left]


def test_of_equally_good_checkpoints_the_newest_is_the_best(tmp_path: Path) -> None:
    save_with(tmp_path, {1: 0.5, 2: 0.5, 3: 0.25})
    assert checkpoint.best(tmp_path) == tmp_path / "epoch-2"


def test_without_validation_there_is_no_best(tmp_path: Path) -> None:
    save_with(tmp_path, {1: None, 2: None})
    assert checkpoint.best(tmp_path) is None
    assert checkpoint.prune(tmp_path, 1, keep_best=True) == [tmp_path / "epoch-1"]
