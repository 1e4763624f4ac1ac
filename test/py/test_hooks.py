from __future__ import annotations

import os
import signal
import socket
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from genenv import wire
from genenv.errors import HookError
from genenv.hook_channel import HookChannel
from genenv.hook_link import LocalLink
from genenv.hooks import Accepted, HookClient, HookInfo, Rejected, Vote
from genenv.wire import Header, Kind, Op
from hook_host import RunningHost, hook_host

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMITS = {"timeoutMs": 1000, "batchTimeoutMs": 30_000, "heapMb": 128, "workers": 2}


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    folder = tmp_path_factory.mktemp("host")
    with hook_host(folder, "hooks/sum.ts", all_hooks=True, limits=LIMITS) as running:
        yield running


@pytest.fixture
def client(host: RunningHost) -> Iterator[HookClient]:
    with HookClient(host.address, host.token, timeout_s=60) as opened:
        yield opened


def test_says_which_hooks_the_run_has(client: HookClient) -> None:
    assert client.describe() == HookInfo("last-number", (), "sums", "band", False)


def test_scores_keep_their_order_and_kind(client: HookClient) -> None:
    results = client.score(["3+4=7", "8", "abstain", "parts", "graded"], [7] * 5, ["t"] * 5)
    assert [result.kind for result in results] == ["score", "score", "abstain", "score", "score"]
    assert [result.value for result in results] == [1.0, 0.0, None, 0.5, 0.25]
    assert results[2].reason == "asked to"
    assert results[3].success is True
    assert results[3].metrics == {"format": 1.0, "length": 7.0}
    assert results[0].success is None
    assert results[0].metrics == {}


def test_large_batches_come_back_in_order(client: HookClient) -> None:
    count = 5000
    responses = [f"the answer is {row}" for row in range(count)]
    truths = [str(row if row % 3 else -1) for row in range(count)]
    values = [r.value for r in client.score(responses, truths, ["t"] * count)]
    assert values == [1.0 if row % 3 else 0.0 for row in range(count)]


def test_an_empty_batch_has_no_results(client: HookClient) -> None:
    assert client.score([], [], []) == []
    assert client.parse([], []) == []
    assert client.environment_prompts([], 0, 0.5, 0) == []
    assert client.alpha_rewards([], 0.5, 4.0) == []


def test_a_ground_truth_outside_the_schema_is_named(client: HookClient) -> None:
    fine, wrong = client.score(["7", "7"], [7, {"answer": 7}], ["t-1", "t-2"])
    assert fine.value == 1.0
    assert (wrong.kind, wrong.code) == ("failed", "threw")
    assert wrong.reason is not None
    assert 'the ground truth of task t-2 doesn\'t fit the schema of reward "last-number"' in (
        wrong.reason
    )


def test_samples_are_numbered_through_the_whole_batch(client: HookClient) -> None:
    truths: list[object] = [7] * 3000
    truths[2999] = [7]
    results = client.score(["7"] * 3000, truths, [f"t-{row}" for row in range(3000)])
    assert "task t-2999" in str(results[2999].reason)
    assert {result.value for result in results[:2999]} == {1.0}


def test_columns_of_different_lengths_are_refused(client: HookClient) -> None:
    with pytest.raises(HookError, match="1 values of task_id for 2 responses"):
        client.score(["7", "8"], [7, 8], ["t"])
    with pytest.raises(HookError, match="2 answers and 1 seed lists"):
        client.parse(["a", "b"], [[]])


def test_a_ground_truth_that_json_cannot_hold_is_named(client: HookClient) -> None:
    with pytest.raises(
        HookError, match=r"ground_truths\[1\] can't be sent .*Out of range"
    ) as caught:
        client.score(["7", "7"], [7, float("nan")], ["a", "b"])
    assert caught.value.code == "not-json"
    # The connection is as good as before.
    assert client.score(["7"], [7], ["a"])[0].value == 1.0


def test_text_comes_through_unchanged_but_for_lone_surrogates(
    client: HookClient, tmp_path: Path
) -> None:
    texts = ["", "nul \0", "שלום", "😀 é", "x" * 1_000_000, "\x1b[31m\r\n\t", "lone \ud800!"]
    tasks = [{"prompt": text, "groundTruth": 1} for text in texts]
    seeds = [[{"id": "s", "task": task, "successRate": 0.5}] for task in tasks]
    prompts = client.environment_prompts(seeds, 2, 0.5, 9)
    seen = [messages[1]["content"].rpartition(" ")[0] for messages in prompts]
    assert seen == [*texts[:-1], "lone \ufffd!"]


def test_prompts_are_the_same_for_the_same_seed(client: HookClient) -> None:
    def draw(epoch: int, seed: int) -> list[str]:
        prompts = client.environment_prompts([[], []], epoch, 0.5, seed)
        return [messages[1]["content"] for messages in prompts]

    assert draw(1, 3) == draw(1, 3)
    assert len({*draw(1, 3), *draw(2, 3), *draw(1, 4)}) == 6


def test_a_seed_that_does_not_fit_the_schema_is_named(client: HookClient) -> None:
    seeds = [{"id": "s-9", "task": {"prompt": "p", "groundTruth": "x"}, "successRate": None}]
    with pytest.raises(HookError, match=r"seed task s-9 doesn't fit .*groundTruth") as caught:
        client.environment_prompts([seeds], 1, 0.5, 0)
    assert caught.value.code == "hook-threw"


def test_answers_become_tasks_or_reasons(client: HookClient) -> None:
    two, threw, bad, none, empty = client.parse(["1+2 3+4", "throw", "bad", "none", ""], [[]] * 5)
    message = {"role": "user", "content": "What is 1+2?"}
    assert two[0] == Accepted({"prompt": "What is 1+2?", "groundTruth": 3, "level": 2}, [message])
    assert len(two) == 2
    assert isinstance(threw[0], Rejected)
    assert threw[0].reason.startswith(
        'failed: threw: environment "sums" (parse) threw for sample 1'
    )
    assert isinstance(bad[0], Rejected)
    assert bad[0].reason.startswith("schema: groundTruth: ")
    assert none == [Rejected("nothing asked")]
    assert empty == [Rejected("no-task")]
    assert client.failures == {"parse: threw": 1}


def test_responses_vote_for_a_label(client: HookClient) -> None:
    votes = client.labels([["so 7", "8"], ["no idea"]], 2)
    assert votes == [Vote("7", 0.5), Vote(None, 1.0)]
    assert client.labels([], 2) == []


def task(name: str, rate: float | None) -> dict[str, object]:
    return {"id": name, "prompt": "p", "groundTruth": 1, "successRate": rate, "reward": rate}


def test_the_curriculum_decides_about_each_task(client: HookClient) -> None:
    tasks = [task("a", 0.5), task("b", 1.0), task("c", None)]
    decisions = client.select(tasks, 0.5, 0.1, "band", 1)
    assert [(d.id, d.keep, d.weight, d.reason) for d in decisions] == [
        ("a", True, 1.0, "band"),
        ("b", False, 1.0, "band"),
        ("c", False, 1.0, "band"),
    ]
    assert client.select([], 0.5, 0.1, "quantile", 1) == []


def test_a_curriculum_that_decides_wrongly_is_an_error(client: HookClient) -> None:
    with pytest.raises(HookError, match='curriculum "band" returned a bad decision for task nan'):
        client.select([task("nan", 0.5)], 0.5, 0.1, "band", 1)
    with pytest.raises(HookError, match="decided twice about task a"):
        client.select([task("a", 0.5), task("a", 0.5)], 0.5, 0.1, "band", 1)


def test_answers_earn_the_reward_of_their_tasks(client: HookClient) -> None:
    rewards = client.alpha_rewards([[0.5], [], [None], [0.5, None, 1.0]], 0.5, 4.0)
    # exp(-4 * 0.25) = 0.36788; its mean with 1 is 0.68394.
    assert rewards == [1.0, 0.0, None, pytest.approx(0.683940, abs=1e-6)]


def test_a_hook_the_run_does_not_have_is_named(tmp_path: Path) -> None:
    with (
        hook_host(tmp_path, "hooks/sum.ts", limits=LIMITS) as running,
        HookClient(running.address) as client,
    ):
        with pytest.raises(HookError, match="this run has no environment hook") as caught:
            client.parse(["1+2"], [[]])
        assert caught.value.code == "hook-absent"


def test_no_host_at_the_address_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("genenv.hook_channel.RECONNECT_S", 0.2)
    with pytest.raises(HookError, match="no hook host answers at unix:") as caught:
        HookClient(f"unix:{tmp_path}/none.sock").describe()
    assert caught.value.code == "hook-host-unreachable"
    with pytest.raises(HookError, match="neither unix:PATH nor tcp:HOST:PORT"):
        HookClient("http://localhost").describe()


def test_a_host_killed_in_the_middle_of_a_batch_costs_no_score(tmp_path: Path) -> None:
    with (
        hook_host(tmp_path, "bad-hooks/slow.ts", limits={**LIMITS, "concurrency": 8}) as running,
        HookClient(running.address) as client,
    ):
        assert client.score(["1"], [0], ["t"])[0].value == 1.0
        killer = threading.Timer(0.3, os.kill, (running.pid, signal.SIGKILL))
        killer.start()
        results = client.score(["200"] * 32, [0] * 32, ["t"] * 32)
        killer.join()
        assert [result.value for result in results] == [3.0] * 32


def test_plain_scores_of_a_small_batch_come_through_the_pipe(
    host: RunningHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames: list[int] = []
    read = LocalLink.read

    def counted(link: LocalLink) -> list[tuple[Header, memoryview]]:
        found = read(link)
        frames.extend(header.op for header, _ in found)
        return found

    monkeypatch.setattr(LocalLink, "read", counted)
    with HookClient(host.address, host.token) as client:
        for _ in range(3):
            assert [r.value for r in client.score(["7"] * 5, [7] * 5, ["t"] * 5)] == [1.0] * 5
        before = len(frames)
        assert before > 0
        # Only plain scores do: a result with a reason is the host's to send.
        assert client.score(["abstain"], [7], ["t"])[0].kind == "abstain"
        assert len(frames) == before
    assert not list(Path("/dev/shm").glob(f"genenv-{host.pid}-*"))


def test_a_frame_that_is_cut_short_in_the_pipe_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(wire.MAPPED_BYTES))
    link = LocalLink.open(str(path))
    try:
        writer = os.open(f"{path}{wire.PIPE_SUFFIX}", os.O_WRONLY)
        header = Header(Op.SCORE, Kind.REPLY_F64, 0, 1, 16)
        os.write(writer, wire.encode_header(header) + bytes(16))
        ((got, body),) = link.read()
        assert (got, len(body)) == (header, 16)
        os.write(writer, wire.encode_header(header) + bytes(15))
        with pytest.raises(HookError, match="cut short in the pipe"):
            link.read()
        os.close(writer)
        with pytest.raises(EOFError, match="closed its pipe"):
            link.read()
    finally:
        link.close()
    assert list(tmp_path.iterdir()) == []


def test_a_hook_that_kills_its_host_fails_alone(tmp_path: Path) -> None:
    with (
        hook_host(tmp_path, "bad-hooks/hostile.ts", limits=LIMITS) as running,
        HookClient(running.address) as client,
    ):
        started = time.monotonic()
        results = client.score(["ab"] * 5 + ["kill-host"] + ["abc"] * 5, [0] * 11, ["t"] * 11)
        assert [result.value for result in results] == [2.0] * 5 + [None] + [3.0] * 5
        assert results[5].code == "crashed"
        assert "took the hook host down for sample 5" in str(results[5].reason)
        assert client.score(["next"], [0], ["t"])[0].value == 4.0
        assert time.monotonic() - started < 25


def test_tcp_wants_the_token_and_nothing_else(tmp_path: Path) -> None:
    tcp = {"host": "127.0.0.1"}
    with hook_host(tmp_path, "hooks/sum.ts", limits=LIMITS, tcp=tcp) as running:
        with HookClient(running.address, running.token) as client:
            assert client.score(["7"], [7], ["t"])[0].value == 1.0
        port = int(running.address.rpartition(":")[2])
        for token in (None, "wrong", f"{running.token}x"):
            with pytest.raises((EOFError, OSError)):
                HookChannel(running.address, token, 5)._open()
        with socket.create_connection(("127.0.0.1", port)) as stranger:
            stranger.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            stranger.settimeout(5)
            assert stranger.recv(1) == b""
        with HookClient(running.address, running.token) as client:
            assert client.score(["7"], [7], ["t"])[0].value == 1.0


def test_the_socket_is_the_users_alone(host: RunningHost) -> None:
    path = Path(host.address.removeprefix("unix:"))
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0


def test_only_the_columns_a_reward_uses_are_wanted(tmp_path: Path) -> None:
    with (
        hook_host(tmp_path, "hooks/uses.ts", limits=LIMITS) as running,
        HookClient(running.address) as client,
    ):
        assert client.describe().uses == ("messages", "dataSource", "extra")
        with pytest.raises(HookError, match='the reward uses "messages", and this batch has none'):
            client.score(["7"], [7], ["t"])
        results = client.score(
            ["a", "b"],
            [1, 1],
            ["t", "t"],
            messages=[[{"role": "user", "content": "four"}]] * 2,
            data_sources=["gsm8k", None],
            extras=[{"n": 10}, {"n": 20}],
        )
        # messages' length 4, plus n, plus the source's length.
        assert [result.value for result in results] == [19.0, 24.0]
