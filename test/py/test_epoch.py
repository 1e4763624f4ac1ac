"""Whole epochs in a world of stand-ins: each objective, each bad answer of the hooks, the pool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from genenv.errors import HookError, WorkerError
from genenv.hooks import Decision, ScoreResult
from loop_world import World, WorldClient, WorldRole
from pytest import approx


def keep(reason: str = "mine", **over: Any) -> Any:
    return lambda task: Decision(
        **({"id": task["id"], "keep": True, "weight": 1.0} | over), reason=reason
    )


def generated(world: World) -> list[dict[str, Any]]:
    return [r for r in world.ledger() if r["source"] == "environment" and r["responses"]]


# -- how the environment model learns --------------------------------------------------------------


def test_regression_and_grpo_train_on_the_answers_with_their_rewards(tmp_path: Path) -> None:
    for objective in ("rwr", "grpo"):
        world = World(tmp_path / objective, env_update=objective)
        world.run(2)
        updates = world.roles["environment"].updates
        assert len(updates) == 2
        for _, rewards, estimator in updates:
            assert all(0 <= reward <= 1 for reward in rewards)
            assert estimator is None
        rewards = [r for _, given, _ in updates for r in given]
        assert 0.0 in rewards, "an answer without a valid task is trained on with R = 0"


def test_none_leaves_the_environment_model_as_it_is_and_frees_its_answers(tmp_path: Path) -> None:
    world = World(tmp_path, env_update="none")
    world.run(2)
    environment = world.roles["environment"]
    assert (environment.updates, environment.weight) == ([], 0)
    assert len(environment.forgotten) == 2 * 6
    # R is still told, as an arm to compare with.
    assert all("env/reward_mean" in m for m in world.metrics() if m["phase"] == "environment")


def test_every_rollout_is_trained_on_or_freed(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.run(2)
    for role, rows in (("agent", 2 * 10 * 4), ("environment", 2 * 6)):
        trained = [key for keys, _, _ in world.roles[role].updates for key in keys]
        assert len(trained) + len(world.roles[role].forgotten) == rows


def test_one_model_is_updated_for_both_roles_each_with_its_own_estimator(tmp_path: Path) -> None:
    world = World(tmp_path, one_model=True)
    world.run(1)
    assert [estimator for _, _, estimator in world.roles["agent"].updates] == [None, "genenv_rwr"]


def test_plain_grpo_asks_nothing_of_an_environment(tmp_path: Path) -> None:
    world = World(tmp_path, plain=True)
    world.run(2)
    assert {row["source"] for row in world.ledger()} == {"seed"}
    assert {m["phase"] for m in world.metrics()} == {"agent", "validation"}


# -- rewards ---------------------------------------------------------------------------------------


def scores_of(value: float, success: bool | None = None) -> Any:
    class Client(WorldClient):
        def score(self, responses: list[str], *_: Any, **__: Any) -> list[ScoreResult]:
            return [ScoreResult("score", value, success, {}) for _ in responses]

    return Client()


def test_a_reward_without_any_success_notion_counts_by_the_threshold(tmp_path: Path) -> None:
    # All are 0.7: no success at the default threshold, all at 0.7.
    for threshold, rate in ((1.0, 0.0), (0.7, 1.0)):
        world = World(tmp_path / str(threshold), success_threshold=threshold)
        world.client = scores_of(0.7)
        world.run(1)
        assert {row["success_rate"] for row in world.ledger() if row["responses"]} == {rate}


def test_groups_without_signal_are_counted(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.client = scores_of(1.0)
    world.run(1)
    (agent,) = [m for m in world.metrics() if m["phase"] == "agent"]
    assert agent["agent/groups_without_signal"] == 10


@pytest.mark.parametrize("role", ["agent", "environment"])
def test_a_batch_of_which_nothing_could_be_rolled_out_ends_the_run(
    tmp_path: Path, role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = WorldRole.rollout

    def rollout(self: WorldRole, stop: Any, *, validate: bool = False, **args: Any) -> Any:
        result = real(self, stop, validate=validate, **args)
        if self.name != role or validate:
            return result
        return {"rows": [], "failed": list(range(len(args["prompts"])))}

    monkeypatch.setattr(WorldRole, "rollout", rollout)
    with pytest.raises(WorkerError, match=f"none of the {role}'s .* could be rolled out") as error:
        World(tmp_path).run(1)
    assert error.value.code == "rollout-failed"
    assert f"logs/{role}.log" in (error.value.hint or "")


def test_a_batch_without_any_score_updates_nothing_and_says_so(tmp_path: Path) -> None:
    class Silent(WorldClient):
        def score(self, responses: list[str], *_: Any, **__: Any) -> list[ScoreResult]:
            return [ScoreResult("abstain", reason="no idea") for _ in responses]

    world = World(tmp_path)
    world.client = Silent()
    world.run(1)
    assert world.roles["agent"].updates == []
    assert "no-scores" in [e.get("code") for e in world.events]
    # Only answers without a valid task have a known R, which is 0.
    assert {r for _, rewards, _ in world.roles["environment"].updates for r in rewards} <= {0.0}


# -- the curriculum and the pool -------------------------------------------------------------------


def test_a_curriculum_that_keeps_nothing_is_a_warning_and_the_run_goes_on(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.client = WorldClient(keep("no", keep=False))
    assert world.run(2)["epochs"] == 2
    warnings = [e for e in world.events if e["type"] == "warning"]
    assert [w["code"] for w in warnings] == ["nothing-kept", "nothing-kept"]
    assert {m["tasks/pool"] for m in world.metrics() if m["phase"] == "environment"} == {0}


def test_a_curriculum_that_fails_ends_the_run_with_its_own_words(tmp_path: Path) -> None:
    def throws(_task: Any) -> Decision:
        raise HookError("curriculum threw: TypeError", code="hook-threw")

    world = World(tmp_path)
    world.run(1)
    world.client = WorldClient(throws)
    with pytest.raises(HookError, match="TypeError"):
        world.run(2, resume=True)
    # What was saved before stays what the run goes on from.
    world.client = WorldClient()
    assert world.run(2, resume=True)["epochs"] == 2


def test_the_batchs_mix_adds_up_and_is_told(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.run(3)
    lines = [m for m in world.metrics() if m["phase"] == "environment"]
    for line in lines:
        assert sum(line[f"tasks/from_{s}"] for s in ("new", "waiting", "pool", "seed")) == 10


def test_a_task_drawn_from_the_pool_has_its_success_rate_renewed(tmp_path: Path) -> None:
    world = World(tmp_path, seed=1, pool={"cap": 100, "seed_fraction": 0.0, "near_duplicate": 1.0})
    world.client = WorldClient(keep())
    world.run(8)
    tries: dict[str, list[dict[str, Any]]] = {}
    for row in generated(world):
        tries.setdefault(row["task"], []).append(row)
    again = [rows for rows in tries.values() if len(rows) > 1]
    assert again
    for rows in again:
        for row in rows:
            assert row["reward"] == approx(1 - abs(row["success_rate"] - 0.5))
            assert row["written_epoch"] <= row["epoch"]


def test_a_task_that_is_solved_twice_leaves_the_pool_whatever_the_curriculum_says(
    tmp_path: Path,
) -> None:
    class Easy(WorldClient):
        def score(self, responses: list[str], *_: Any, **__: Any) -> list[ScoreResult]:
            return [ScoreResult("score", 1.0, True, {}) for _ in responses]

    world = World(tmp_path, pool={"cap": 100, "seed_fraction": 0.0, "near_duplicate": 1.0})
    world.client = Easy(keep())
    world.run(12)
    fates: dict[str, list[str]] = {}
    for row in generated(world):
        fates.setdefault(row["task"], []).append(row["reason"])
    # A copy that is written anew counts for the task it is a copy of.
    told = {tuple(reasons) for reasons in fates.values()}
    assert {("mine",), ("mine", "solved")} <= told <= {("mine",), ("mine", "solved"), ("solved",)}


def test_nearly_the_same_task_does_not_join_the_pool_and_names_the_other(tmp_path: Path) -> None:
    class Alike(WorldClient):
        def _tasks(self, number: int) -> Any:
            tasks = super()._tasks(number)
            for place, task in enumerate(tasks):
                if hasattr(task, "messages"):
                    content = "the very same long question again and again" + "?" * (
                        number % 7 + place
                    )
                    task.messages[0]["content"] = content
            return tasks

    world = World(tmp_path, pool={"cap": 9, "seed_fraction": 0.5, "near_duplicate": 0.8})
    world.client = Alike(keep())
    world.run(2)
    near = [r for r in generated(world) if r["reason"].startswith("near-duplicate of e")]
    assert near
    assert not any(row["kept"] for row in near)
    assert world.metrics()[-2]["tasks/pool"] == 1


def test_what_a_full_pool_has_no_room_for_is_not_said_to_be_kept(tmp_path: Path) -> None:
    world = World(tmp_path, pool={"cap": 1, "seed_fraction": 0.5, "near_duplicate": 1.0})
    world.client = WorldClient(keep())
    world.run(1)
    fates = {row["reason"]: row["kept"] for row in generated(world)}
    assert fates == {"mine": True, "pool-full": False}
    assert sum(row["kept"] for row in generated(world)) == 1


def test_a_task_that_a_full_pool_lets_go_of_later_is_told_too(tmp_path: Path) -> None:
    world = World(tmp_path, pool={"cap": 2, "seed_fraction": 1.0, "near_duplicate": 1.0})
    world.client = WorldClient(keep())
    world.run(3)
    kept = {row["task"] for row in generated(world) if row["kept"]}
    evicted = [row["task"] for row in world.ledger() if row["reason"] == "evicted"]
    assert len(set(evicted)) == len(evicted) == len(kept) - 2
    assert set(evicted) < kept
