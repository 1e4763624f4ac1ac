"""Success rates, trainable groups and the failure limit, from a reward hook's results."""

from __future__ import annotations

from typing import Any

import pytest
from genenv.errors import HookError
from genenv.loop.generation import Answer
from genenv.loop.metrics import reward_metrics
from genenv.loop.scoring import (
    failure_counts,
    refuse_failed_scores,
    score_groups,
    trainable_answers,
)
from loop_fakes import FakeClient, abstained, failed, group, make_task, row, scored

TASK = make_task("t", "3 + 4")


# -- success rates ---------------------------------------------------------------------------------


def test_the_success_rate_is_the_share_of_successes_among_scored_responses() -> None:
    assert group(TASK, scored(1.0), scored(0.0), scored(0.5), scored(1.0)).success_rate == 0.5


def test_abstained_and_failed_responses_are_left_out_of_the_success_rate() -> None:
    tried = group(TASK, scored(1.0), abstained(), failed(), scored(0.0), scored(0.0))
    assert tried.success_rate == pytest.approx(1 / 3)
    assert tried.scored == 3


def test_a_task_of_which_no_response_was_scored_has_no_success_rate() -> None:
    assert group(TASK, abstained(), failed()).success_rate is None
    assert group(TASK).success_rate is None


# -- what is trained on ----------------------------------------------------------------------------


def test_only_scored_responses_are_trained_on_each_with_its_own_reward() -> None:
    tried = group(TASK, scored(1.0), failed(), scored(0.25), abstained())
    assert [(r["text"], reward) for r, reward in tried.trainable()] == [("r0", 1.0), ("r2", 0.25)]


def test_a_group_of_one_scored_response_is_not_trained_on() -> None:
    assert group(TASK, scored(1.0), failed(), abstained()).trainable() == []
    assert group(TASK, scored(1.0)).trainable() == []
    assert group(TASK).trainable() == []


def test_equal_rewards_are_no_signal_and_unequal_ones_are() -> None:
    assert not group(TASK, scored(1.0), scored(1.0), failed()).has_signal
    assert group(TASK, scored(1.0), scored(0.5)).has_signal
    assert not group(TASK, abstained()).has_signal


def answer(place: int, prompt: int) -> Answer:
    return Answer(f"e1-a{place}", row(prompt, f"a{place}"), prompt, ())


def test_answers_with_a_reward_are_trained_on_and_those_without_are_not() -> None:
    answers = [answer(0, 0), answer(1, 0), answer(2, 0)]
    rewards = {"e1-a0": 0.5, "e1-a1": None, "e1-a2": 0.0}
    for objective in ("rwr", "grpo"):
        pairs = trainable_answers(answers, rewards, objective)
        assert [(r["text"], reward) for r, reward in pairs] == [("a0", 0.5), ("a2", 0.0)]


def test_grpo_leaves_out_an_answer_that_is_alone_with_a_reward_under_its_prompt() -> None:
    answers = [answer(0, 0), answer(1, 0), answer(2, 1), answer(3, 1)]
    rewards = {"e1-a0": 0.5, "e1-a1": None, "e1-a2": 1.0, "e1-a3": 0.0}
    alone = trainable_answers(answers, rewards, "grpo")
    assert [r["text"] for r, _ in alone] == ["a2", "a3"]
    # Its weight in regression is 1: it is learnt as it is.
    assert len(trainable_answers(answers, rewards, "rwr")) == 3


def test_a_frozen_environment_is_trained_on_nothing() -> None:
    assert (
        trainable_answers([answer(0, 0), answer(1, 0)], {"e1-a0": 1.0, "e1-a1": 0.0}, "none") == []
    )


# -- scoring a rollout -----------------------------------------------------------------------------


def score(client: FakeClient, tasks: list, rows: list, **options: object) -> list:
    return score_groups(
        client,  # type: ignore[arg-type]
        tasks,
        rows,
        **({"success_threshold": 1.0, "on_failure": "fail"} | options),  # type: ignore[arg-type]
    )


def test_rows_are_scored_against_their_own_task_and_grouped_in_the_tasks_order() -> None:
    tasks = [
        make_task("a", "A?", ground_truth=1, extra={"k": 2}),
        make_task("b", "B?", ground_truth=2),
    ]
    client = FakeClient({"x": scored(1.0), "y": scored(0.0), "z": scored(1.0)})
    first, second = score(client, tasks, [row(1, "x"), row(0, "y"), row(1, "z")])
    assert client.asked[0]["ground_truths"] == [2, 1, 2]
    assert client.asked[0]["task_ids"] == ["b", "a", "b"]
    assert client.asked[0]["extras"] == [{}, {"k": 2}, {}]
    assert (first.task.id, [r["text"] for r in first.rows], first.success_rate) == ("a", ["y"], 0.0)
    assert (second.task.id, [r["text"] for r in second.rows], second.success_rate) == (
        "b",
        ["x", "z"],
        1.0,
    )


def test_a_task_that_was_not_rolled_out_has_an_empty_group() -> None:
    client = FakeClient({"x": scored(1.0)})
    groups = score(client, [make_task("a", "A?"), make_task("b", "B?")], [row(1, "x")])
    assert [len(g.rows) for g in groups] == [0, 1]
    assert groups[0].success_rate is None


def test_a_score_exactly_at_the_threshold_is_a_success_unless_the_hook_says_otherwise() -> None:
    client = FakeClient(
        {
            "at": scored(0.5),
            "below": scored(0.499),
            "no": scored(0.9, False),
            "yes": scored(0.0, True),
        }
    )
    rows = [row(0, text) for text in ("at", "below", "no", "yes")]
    (tried,) = score(client, [TASK], rows, success_threshold=0.5)
    assert tried.successes == [True, False, False, True]


def test_on_failure_zero_makes_a_failure_a_score_of_zero_that_is_still_counted() -> None:
    client = FakeClient({"x": failed("timeout", "1000 ms"), "y": scored(1.0), "z": abstained()})
    (tried,) = score(client, [TASK], [row(0, t) for t in "xyz"], on_failure="zero")
    assert tried.success_rate == 0.5
    assert [reward for _, reward in tried.trainable()] == [0.0, 1.0]
    assert (tried.scores[0].code, tried.scores[0].reason) == ("timeout", "1000 ms")
    assert failure_counts([tried]) == {"timeout": 1}
    assert reward_metrics("agent", [tried])["agent/abstained"] == 1.0


# -- the failure limit -----------------------------------------------------------------------------


def test_failures_are_counted_by_code_and_abstentions_are_none_of_them() -> None:
    groups = [
        group(TASK, failed("threw"), failed("timeout"), scored(1.0)),
        group(TASK, failed("threw"), abstained()),
    ]
    assert failure_counts(groups) == {"threw": 2, "timeout": 1}
    assert failure_counts([]) == {}
    metrics = reward_metrics("agent", groups)
    counted = {name: metrics[f"agent/{name}"] for name in ("responses", "scored", "abstained")}
    assert counted == {"responses": 5.0, "scored": 1.0, "abstained": 1.0}
    assert [name for name in metrics if "/failed/" in name] == [
        "agent/failed/threw",
        "agent/failed/timeout",
    ]
    assert reward_metrics("agent", [])["agent/abstained"] == 0.0


def limits(rate: float, on_failure: str = "abstain") -> dict[str, Any]:
    return {"on_failure": on_failure, "max_failure_rate": rate}


def test_a_share_of_failures_exactly_at_the_limit_is_allowed() -> None:
    tried = group(TASK, failed(), scored(1.0), scored(1.0), scored(0.0))
    refuse_failed_scores([tried], limits(0.25))


def test_one_failure_over_the_limit_stops_the_run_and_says_what_the_first_one_was() -> None:
    tried = group(TASK, failed("threw", "TypeError: x"), failed("timeout", "late"), scored(1.0))
    with pytest.raises(HookError) as caught:
        refuse_failed_scores([tried], limits(0.5))
    assert caught.value.code == "too-many-failures"
    assert caught.value.message == (
        "2 of 3 scores failed (67%, more than genenv.hooks.max_failure_rate = 50%); "
        "the first: threw: TypeError: x"
    )


def test_without_failures_a_limit_of_zero_is_kept_even_by_no_scores_at_all() -> None:
    refuse_failed_scores([group(TASK, scored(0.0), abstained())], limits(0.0))
    refuse_failed_scores([], limits(0.0))
    with pytest.raises(HookError, match="1 of 1 scores failed"):
        refuse_failed_scores([group(TASK, failed())], limits(0.0))


def test_on_failure_stop_takes_one_failure_and_no_abstention() -> None:
    refuse_failed_scores([group(TASK, scored(0.0), abstained())], limits(1.0, "stop"))
    with pytest.raises(HookError) as caught:
        refuse_failed_scores(
            [group(TASK, scored(1.0), failed("threw", "bad"))], limits(1.0, "stop")
        )
    assert caught.value.code == "hook-failed"
    assert caught.value.message == (
        "1 of 2 scores failed, and genenv.hooks.on_failure is stop; the first: threw: bad"
    )


def test_failures_made_zeros_count_against_the_limit_too() -> None:
    tried = score_groups(
        FakeClient({"a": failed()}), [TASK], [row(0, "a")], success_threshold=1.0, on_failure="zero"
    )
    assert tried[0].scores[0].value == 0.0
    with pytest.raises(HookError, match="max_failure_rate"):
        refuse_failed_scores(tried, limits(0.5, "zero"))
