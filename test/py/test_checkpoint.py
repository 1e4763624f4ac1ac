"""Checkpoints with stand-in roles: a rename commits, and what a crash leaves is not looked at."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from genenv.loop import checkpoint
from loop_fakes import FakeRole


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
        "state.json",
        "trainer/agent/optim.pt",
        "trainer/environment/optim.pt",
    ]
    assert checkpoint.read_state(saved) == {"epoch": 3}
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
    checkpoint.load_roles(tmp_path / "epoch-4", roles, step=9)  # type: ignore[arg-type]
    folder = tmp_path / "epoch-4" / "trainer"
    assert agent.calls == [("load", {"folder": str(folder / "agent"), "step": 9})]
    assert environment.calls == [("load", {"folder": str(folder / "environment"), "step": 9})]
