"""What keeps a run from working on a joined cluster: judged from the nodes' own reports."""

import socket
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from genenv import cluster, cluster_check
from genenv.cluster_check import (
    Free,
    Need,
    NodeReport,
    needs_of,
    own_versions,
    refuse_missing_node_js,
    refuse_other_versions,
    refuse_unplaceable,
    refuse_unreached_hooks,
    refuse_unseen_paths,
    report,
    unplaced,
)
from genenv.device import local_gpus
from genenv.errors import ConfigError, WorkerError
from omegaconf import OmegaConf

OWN = {"ray": "2.60.0", "verl": "0.9.1", "genenv": "abc"}


def node(name: str = "b", **changes: object) -> NodeReport:
    fields = {"versions": OWN, "unseen": [], "node_js": "22.1.0", "hooks": None} | changes
    return NodeReport(name, **fields)  # type: ignore[arg-type]


def test_equal_versions_pass() -> None:
    refuse_other_versions([node("a"), node("b")], OWN)


def test_every_version_that_differs_is_named_with_both_values() -> None:
    other = OWN | {"verl": "0.8.0", "ray": None}
    with pytest.raises(ConfigError) as caught:
        refuse_other_versions([node("a"), node("b", versions=other)], OWN)
    assert caught.value.code == "version-mismatch"
    assert "ray missing on b (2.60.0 here); verl 0.8.0 on b (0.9.1 here)" in str(caught.value)
    assert " on a " not in str(caught.value)


def test_a_node_reports_its_versions_and_the_package_it_really_runs() -> None:
    versions = own_versions()
    assert versions["verl"] == "0.9.1"
    assert len(str(versions["genenv"])) == 12


def test_a_node_that_reads_the_mark_sees_the_folder(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    mark.write_text("x")
    assert report("a", (str(mark), "x"), [str(tmp_path)], None).unseen == []


@pytest.mark.parametrize("there", ["another run's", None])
def test_a_folder_of_the_same_name_is_not_the_shared_one(tmp_path: Path, there: str | None) -> None:
    mark = tmp_path / "mark"
    if there is not None:
        mark.write_text(there)
    seen = report("a", (str(mark), "x"), ["/nowhere/model"], None)
    assert seen.unseen == [str(tmp_path), "/nowhere/model"]
    with pytest.raises(ConfigError, match=f"{tmp_path} on a; /nowhere/model on a") as caught:
        refuse_unseen_paths([seen])
    assert caught.value.code == "path-not-shared"


@pytest.mark.parametrize(
    ("version", "text"), [(None, "b has no Node.js"), ("18.20.1", "b has Node.js 18.20.1")]
)
def test_a_node_without_a_fit_node_js_is_named(version: str | None, text: str) -> None:
    refuse_missing_node_js([node("a", node_js="20.19.0")])
    with pytest.raises(ConfigError, match=text) as caught:
        refuse_missing_node_js([node("a"), node("b", node_js=version)])
    assert caught.value.code == "no-node-js"


def test_a_node_that_cannot_reach_the_hooks_says_why(tmp_path: Path) -> None:
    refuse_unreached_hooks([node()])
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    lost = report("b", (str(tmp_path / "x"), "x"), [], ("nowhere:1", "token"))
    assert lost.hooks is not None
    assert port > 0
    with pytest.raises(ConfigError, match=r"b: the hook address .* is neither") as caught:
        refuse_unreached_hooks([lost])
    assert caught.value.code == "hooks-unreached"


def test_two_roles_find_a_place_on_a_node_each() -> None:
    free = [Free("a", 8, 8, 64), Free("b", 8, 8, 64)]
    assert unplaced([Need("agent", 1, 8), Need("environment", 1, 8)], free) == []


def test_a_share_must_fit_one_node_and_not_the_sum_of_two() -> None:
    free = [Free("a", 4, 4, 64), Free("b", 4, 4, 64)]
    assert unplaced([Need("agent", 1, 8)], free) == [Need("agent", 1, 8)]
    assert unplaced([Need("agent", 2, 4)], free) == []


def test_small_shares_leave_the_large_places_to_the_large() -> None:
    free = [Free("a", 8, 8, 64), Free("b", 2, 2, 64)]
    assert unplaced([Need("environment", 1, 2), Need("agent", 1, 8)], free) == []


def test_devices_without_processors_are_no_place() -> None:
    assert unplaced([Need("agent", 1, 1)], [Free("a", 1, 1, 2)]) == [Need("agent", 1, 1)]


def test_what_is_asked_for_there_and_missing_is_said_at_once() -> None:
    slept: list[float] = []
    with pytest.raises(ConfigError) as caught:
        refuse_unplaceable(
            [Need("agent", 2, 8), Need("environment", 2, 8)],
            lambda: [Free("a", 8, 8, 96), Free("b", 8, 8, 96)],
            sleep=slept.append,
        )
    assert caught.value.code == "no-place"
    assert "asked for: agent 2 x 8; environment 2 x 8" in str(caught.value)
    assert "a 8 of 8 free, 96 processors; b 8 of 8 free" in str(caught.value)
    assert "No place for 2 x 8 for the environment" in str(caught.value)
    assert slept == []


def test_devices_that_a_run_before_still_holds_are_waited_for() -> None:
    looks = iter([[Free("a", 0, 1, 64)], [Free("a", 0, 1, 64)], [Free("a", 1, 1, 64)]])
    slept: list[float] = []
    refuse_unplaceable([Need("agent", 1, 1)], lambda: next(looks), sleep=slept.append)
    assert len(slept) == 2


def test_but_not_for_ever() -> None:
    with pytest.raises(ConfigError, match="a 0 of 1 free"):
        refuse_unplaceable(
            [Need("agent", 1, 1)],
            lambda: [Free("a", 0, 1, 64)],
            timeout_s=0.0,
            sleep=lambda _: None,
        )


def test_roles_that_share_their_devices_ask_for_them_once() -> None:
    config = OmegaConf.create({"trainer": {"nnodes": 2, "n_gpus_per_node": 8}})
    roles = {"agent": config, "environment": config}
    assert needs_of(roles, share=False) == [Need("agent", 2, 8), Need("environment", 2, 8)]
    assert needs_of(roles, share=True) == [Need("agent", 2, 8)]


def test_an_address_where_nothing_answers_is_refused_in_seconds() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(
        WorkerError, match=f"nothing answers at genenv.ray_address 127.0.0.1:{port}"
    ) as caught:
        cluster.join(f"127.0.0.1:{port}", {})
    assert caught.value.code == "no-ray-cluster"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (
            RuntimeError("Version mismatch: The cluster was started with: Ray: 2.9 Python: 3.11"),
            "version-mismatch",
        ),
        (RuntimeError("No node info found matching attributes: ''"), "not-a-ray-node"),
        (ConnectionError("Could not find any running Ray instance."), "no-ray-cluster"),
        (ConnectionError("Failed to connect to Ray cluster at h:1"), "ray-refused"),
    ],
)
def test_rays_own_errors_become_ones_with_a_next_step(error: Exception, code: str) -> None:
    ours = cluster._not_joined("h:1", error)
    assert ours.code == code
    assert ours.hint


def test_other_nodes_get_the_package_and_nothing_of_this_machines_folders() -> None:
    env = cluster.shipped({"VERL_PLATFORM": "cpu", "TMPDIR": "/here", "PYTHONPATH": "/here"})
    assert env["env_vars"]["VERL_PLATFORM"] == "cpu"
    assert not {"TMPDIR", "PYTHONPATH"} & set(env["env_vars"])
    assert [Path(path).name for path in env["py_modules"]] == ["genenv"]


@pytest.mark.parametrize(("visible", "count"), [("", 0), ("-1", 0), ("0,3", 2), ("GPU-1ab", 1)])
def test_gpus_that_cuda_hides_do_not_count(
    monkeypatch: pytest.MonkeyPatch, visible: str, count: int
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert local_gpus() == count


def test_roles_that_share_their_devices_must_ask_for_the_same() -> None:
    roles = {
        "agent": OmegaConf.create({"trainer": {"nnodes": 1, "n_gpus_per_node": 8}}),
        "environment": OmegaConf.create({"trainer": {"nnodes": 1, "n_gpus_per_node": 4}}),
    }
    with pytest.raises(ConfigError, match="agent 1 x 8 and environment 1 x 4") as caught:
        needs_of(roles, share=True)
    assert caught.value.code == "share-differs"


class _Ray(types.ModuleType):
    """As much of Ray as is asked: two live nodes, and an answer (or none) from each."""

    def __init__(self, late: list[str], failure: Exception | None) -> None:
        super().__init__("ray")
        self._late, self._failure = late, failure

    def remote(self, **_: object) -> Any:
        def bind(_function: object) -> Any:
            asked = types.SimpleNamespace(remote=lambda name, *_: name)
            return types.SimpleNamespace(options=lambda **_: asked)

        return bind

    def nodes(self) -> list[dict[str, object]]:
        return [{"Alive": True, "NodeManagerAddress": at, "NodeID": at} for at in ("n1", "n2")]

    def wait(self, answers: list[str], **_: object) -> tuple[list[str], list[str]]:
        return [at for at in answers if at not in self._late], self._late

    def get(self, _answers: list[str]) -> list[NodeReport]:
        raise self._failure or AssertionError("nobody answered")


def _with_ray(monkeypatch: pytest.MonkeyPatch, ray: types.ModuleType) -> None:
    strategies = types.ModuleType("ray.util.scheduling_strategies")
    strategies.NodeAffinitySchedulingStrategy = lambda *_, **__: None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setitem(sys.modules, "ray.util", types.ModuleType("ray.util"))
    monkeypatch.setitem(sys.modules, "ray.util.scheduling_strategies", strategies)


def test_nodes_that_give_no_answer_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _with_ray(monkeypatch, _Ray(late=["n2"], failure=None))
    with pytest.raises(WorkerError) as caught:
        cluster_check.ask_nodes(tmp_path, [], None)
    assert caught.value.code == "node-silent"
    assert caught.value.message == "these nodes of the Ray cluster gave no answer in 60 s: n2"
    assert caught.value.hint == (
        "look into Ray's logs there; ray status says what the nodes are doing"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_node_that_cannot_run_the_package_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = ModuleNotFoundError("No module named 'genenv'")
    _with_ray(monkeypatch, _Ray(late=[], failure=failure))
    with pytest.raises(WorkerError) as caught:
        cluster_check.ask_nodes(tmp_path, [], None)
    assert caught.value.code == "node-silent"
    assert caught.value.message == (
        "a node of the Ray cluster could not run genenv's Python: No module named 'genenv'"
    )


def test_a_cluster_with_another_run_in_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = types.ModuleType("ray")
    ray.get_actor = lambda *_, **__: "somebody's"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setattr(cluster_check, "_FREE_SECONDS", 0.01)
    monkeypatch.setattr(cluster_check.time, "sleep", lambda _seconds: None)
    with pytest.raises(WorkerError) as caught:
        cluster_check.refuse_busy_cluster()
    assert caught.value.code == "cluster-busy"
    assert "another veRL run works on this Ray cluster" in caught.value.message
    assert caught.value.hint == "wait for it to end, or start a cluster of its own for this run"


def test_a_cluster_whose_last_run_is_gone_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_actor(*_: object, **__: object) -> None:
        raise ValueError("no such actor")

    ray = types.ModuleType("ray")
    ray.get_actor = no_actor  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ray", ray)
    cluster_check.refuse_busy_cluster()
