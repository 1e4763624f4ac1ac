"""A run that was killed goes on as if nothing had happened, wherever that was."""

from __future__ import annotations

import errno
import json
import shutil
import threading
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from genenv.errors import DataError, WorkerError
from genenv.loop import checkpoint
from genenv.loop import run as run_module
from genenv.loop.ledger import Entry, Ledger
from genenv.loop.settings import Settings
from loop_world import Killed, World, WorldRole

EPOCHS = 4


def kill(phase: str, epoch: int) -> Any:
    def kill_at(event: dict[str, Any]) -> None:
        if event["type"] == "phase" and (event["phase"], event["epoch"]) == (phase, epoch):
            raise Killed

    return kill_at


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    world = World(tmp_path_factory.mktemp("whole"))
    world.run(EPOCHS)
    return world.everything(EPOCHS)


def test_the_world_is_one_in_which_everything_happens(whole: dict[str, Any]) -> None:
    reasons = {row["reason"] for row in whole["ledger"]}
    assert {"seed", "waiting", "not in the mood", "not settled"} <= reasons
    origins = ("tasks/from_new", "tasks/from_waiting", "tasks/from_pool", "tasks/from_seed")
    for name in origins:
        assert sum(line.get(name, 0) for line in whole["metrics"]) > 0, name
    assert whole["pool"]


def test_two_runs_are_equal(tmp_path: Path, whole: dict[str, Any]) -> None:
    again = World(tmp_path)
    again.run(EPOCHS)
    assert again.everything(EPOCHS) == whole


@pytest.mark.parametrize(
    "phase",
    [
        "environment-rollout",
        "parse",
        "agent-rollout",
        "reward",
        "agent-update",
        "environment-update",
        "epoch-end",
        "validation",
        "checkpoint",
    ],
)
@pytest.mark.parametrize("epoch", [1, 3])
def test_killed_in_any_phase_it_ends_like_a_run_that_was_not(
    tmp_path: Path, whole: dict[str, Any], phase: str, epoch: int
) -> None:
    world = World(tmp_path)
    with pytest.raises(Killed):
        world.run(EPOCHS, kill_at=kill(phase, epoch))
    result = world.run(EPOCHS, resume=True)
    assert world.everything(EPOCHS) == whole
    assert (result["epochs"], result["steps"], result["stopped"]) == (EPOCHS, EPOCHS, False)


def test_killed_again_and_again_it_still_ends_the_same(
    tmp_path: Path, whole: dict[str, Any]
) -> None:
    world = World(tmp_path)
    for phase, epoch in (("agent-update", 1), ("checkpoint", 2), ("epoch-end", 2), ("parse", 4)):
        with pytest.raises(Killed):
            world.run(EPOCHS, resume=True, kill_at=kill(phase, epoch))
    world.run(EPOCHS, resume=True)
    assert world.everything(EPOCHS) == whole


def test_killed_exactly_at_an_epochs_end_it_goes_on_with_the_next(
    tmp_path: Path, whole: dict[str, Any]
) -> None:
    def kill_at(event: dict[str, Any]) -> None:
        if event["type"] == "checkpoint" and event["epoch"] == 2:
            raise Killed

    world = World(tmp_path)
    with pytest.raises(Killed):
        world.run(EPOCHS, kill_at=kill_at)
    world.events.clear()
    world.run(EPOCHS, resume=True)
    rollouts = [e["epoch"] for e in world.events if e.get("phase") == "agent-rollout"]
    assert rollouts == [3, 4]
    assert world.everything(EPOCHS) == whole


@pytest.mark.parametrize("role", ["agent", "environment"])
def test_killed_while_a_checkpoint_is_written_the_half_of_it_is_not_read(
    tmp_path: Path, whole: dict[str, Any], role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path)
    write = checkpoint.write_text

    def kill_after_the_roles(path: Path, text: str) -> None:
        if path.name == "state.json" and json.loads(text)["epoch"] == 3:
            (path.parent / role / "weight.json").unlink()
            raise Killed
        write(path, text)

    # What a crash leaves is left: a dead process cleans nothing up.
    monkeypatch.setattr(checkpoint, "write_text", kill_after_the_roles)
    monkeypatch.setattr(checkpoint.shutil, "rmtree", lambda *_, **__: None)
    with pytest.raises(Killed):
        world.run(EPOCHS)
    monkeypatch.undo()
    assert (tmp_path / "checkpoints" / ".epoch-3.draft").is_dir()
    world.run(EPOCHS, resume=True)
    assert world.everything(EPOCHS) == whole
    left = sorted(p.name for p in (tmp_path / "checkpoints").iterdir())
    assert left == ["epoch-1", "epoch-2", "epoch-3", "epoch-4"]


def test_the_next_batch_is_the_one_the_killed_process_had(tmp_path: Path) -> None:
    world = World(tmp_path)
    with pytest.raises(Killed):
        world.run(EPOCHS, kill_at=kill("agent-update", 3))
    asked = world.roles["agent"].prompts[-1]
    with pytest.raises(Killed):
        world.run(EPOCHS, resume=True, kill_at=kill("agent-update", 3))
    assert world.roles["agent"].prompts == [asked]


@pytest.mark.parametrize("save_freq", [2, 3, -1])
def test_saved_more_rarely_it_repeats_the_epochs_since(
    tmp_path: Path, whole: dict[str, Any], save_freq: int
) -> None:
    world = World(tmp_path)
    with pytest.raises(Killed):
        world.run(EPOCHS, kill_at=kill("agent-update", 4), save_freq=save_freq)
    world.run(EPOCHS, resume=True, save_freq=save_freq)
    assert world.everything(EPOCHS) == whole


def test_a_finished_run_can_be_made_longer(tmp_path: Path, whole: dict[str, Any]) -> None:
    world = World(tmp_path)
    world.run(2)
    world.run(EPOCHS, resume=True)
    assert world.everything(EPOCHS) == whole


def test_one_model_in_both_roles_goes_on_too(tmp_path: Path) -> None:
    straight, killed = (World(tmp_path / name, one_model=True) for name in ("straight", "killed"))
    straight.run(3)
    with pytest.raises(Killed):
        killed.run(3, kill_at=kill("environment-update", 2))
    killed.run(3, resume=True)
    assert killed.everything(3) == straight.everything(3)
    # Two updates an epoch: the trainer's own step is not the loop's.
    assert killed.roles["agent"].steps == 6


def test_only_the_newest_and_the_best_checkpoints_stay(tmp_path: Path) -> None:
    world = World(tmp_path, keep_best=True)
    world.run(EPOCHS, max_actor_ckpt_to_keep=1)
    rates = {
        line["epoch"]: line["val/success_rate"]
        for line in world.metrics()
        if line["phase"] == "validation" and line["epoch"] > 0
    }
    best = max(rates, key=lambda epoch: (rates[epoch], epoch))
    left = {p.name for p in (tmp_path / "checkpoints").iterdir()}
    assert left == {f"epoch-{best}", f"epoch-{EPOCHS}"}


def test_a_checkpoint_that_was_removed_meanwhile_is_written_again(tmp_path: Path) -> None:
    world, saved = World(tmp_path), tmp_path / "checkpoints" / "epoch-2"
    world.run(2)
    before = (saved / "state.json").read_text(), (saved / "pool.jsonl").read_text()

    def take_away(event: dict[str, Any]) -> None:
        if event.get("phase") == "environment-rollout":
            shutil.rmtree(saved)
            world.stop.set()

    world.run(3, resume=True, kill_at=take_away)
    assert ((saved / "state.json").read_text(), (saved / "pool.jsonl").read_text()) == before


@pytest.mark.parametrize("damage", ["lines", "file", "digest"])
def test_a_pool_that_is_not_the_one_that_was_saved_is_refused(tmp_path: Path, damage: str) -> None:
    world = World(tmp_path)
    world.run(2)
    saved = tmp_path / "checkpoints" / "epoch-2"
    if damage == "lines":
        lines = (saved / "pool.jsonl").read_text().splitlines(keepends=True)
        (saved / "pool.jsonl").write_text("".join(lines[1:]))
    elif damage == "file":
        (saved / "pool.jsonl").unlink()
    else:
        state = json.loads((saved / "state.json").read_text())
        del state["pool_sha256"]
        (saved / "state.json").write_text(json.dumps(state))
        (saved / "state.sha256").unlink()
    with pytest.raises(DataError, match=r"pool\.jsonl is not what was saved") as caught:
        world.run(3, resume=True)
    assert caught.value.code == "checkpoint-damaged"


def test_each_checkpoint_has_the_configuration_it_was_made_with(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.run(1)
    copy = tmp_path / "checkpoints" / "epoch-1" / "config.yaml"
    assert copy.read_text() == (tmp_path / "config.yaml").read_text()


def test_a_ledger_that_lacks_rows_is_refused(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.run(1)
    (tmp_path / "tasks.parquet").unlink()
    with pytest.raises(DataError, match=r"tasks\.parquet has 0 rows") as caught:
        world.run(2, resume=True)
    assert caught.value.code == "ledger-short"


def test_damaged_lines_of_the_metrics_are_told(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.run(1)
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write("\0\0\n")
    world.run(2, resume=True)
    warnings = [e for e in world.events if e["type"] == "warning"]
    assert [w["code"] for w in warnings] == ["metrics-unreadable"]


# -- a full disk -----------------------------------------------------------------------------------


class StandInStack:
    """Where ``train`` has Ray and the roles' processes."""

    node_hooks = None

    def __init__(self, *_: Any) -> None:
        self.roles = {name: WorldRole(name) for name in ("agent", "environment")}

    def start(self, *_: Any) -> None:
        pass

    def stop(self) -> None:
        pass


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_disk_that_fills_up_ends_the_run_names_it_and_loses_nothing_saved(
    tmp_path: Path, whole: dict[str, Any], monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    world = World(tmp_path)
    settings = world.settings(EPOCHS)
    add = Ledger.add

    def no_room(ledger: Ledger, epoch: int, entries: list[Entry]) -> None:
        if epoch == 3:
            raise OSError(code, "No space left on device", str(tmp_path / "tasks.parquet"))
        add(ledger, epoch, entries)

    monkeypatch.setattr(run_module, "Stack", StandInStack)
    monkeypatch.setattr(run_module, "HookClient", lambda *_: nullcontext(world.client))
    monkeypatch.setattr(run_module, "from_params", lambda _: Settings(**settings))
    monkeypatch.setattr(Ledger, "add", no_room)
    with pytest.raises(WorkerError) as caught:
        run_module.train({}, lambda _: None, threading.Event())
    assert caught.value.code == "disk-full"
    assert str(tmp_path) in caught.value.message
    monkeypatch.undo()
    world.run(EPOCHS, resume=True)
    assert world.everything(EPOCHS) == whole


def test_another_error_of_the_system_is_not_taken_for_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Refusing(StandInStack):
        def start(self, *_: Any) -> None:
            raise PermissionError(errno.EACCES, "Permission denied")

    world = World(tmp_path)
    settings = world.settings(1)
    monkeypatch.setattr(run_module, "Stack", Refusing)
    monkeypatch.setattr(run_module, "from_params", lambda _: Settings(**settings))
    with pytest.raises(PermissionError):
        run_module.train({}, lambda _: None, threading.Event())
