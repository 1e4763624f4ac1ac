"""From seeds to answers to tasks, with the hook plane and the environment's role stood in for."""

from __future__ import annotations

import random
import threading
from typing import Any

import pytest
from genenv.hooks import Rejected
from genenv.loop.generation import SEEDS_PER_PROMPT, Generation, generate, parse, pick_seeds
from genenv.loop.pool import Pool
from loop_fakes import FakeClient, FakeRole, accepted, make_task, row, seed_task

SEEDS = [[{"id": "seed-1", "task": {}, "successRate": 0.5}]]
PROMPTS = [[{"role": "user", "content": "write a task"}]]


def parsed(
    answers: dict[str, list[Any]], fits: Any = lambda _messages: True, epoch: int = 2
) -> Generation:
    """What comes of these answers to one prompt, in order."""
    rows = [row(0, text) for text in answers]
    client = FakeClient(parsed=answers)
    return parse(client, PROMPTS, rows, SEEDS, epoch=epoch, fits=fits)  # type: ignore[arg-type]


# -- picking seeds ---------------------------------------------------------------------------------


def test_a_prompt_shows_seed_tasks_with_what_is_known_of_them() -> None:
    tasks = [seed_task(i) for i in range(SEEDS_PER_PROMPT)]
    (shown,) = pick_seeds(tasks, {"seed-2": 0.75}, Pool(cap=5), 1, random.Random(0))
    by_id = {seed["id"]: seed for seed in shown}
    assert sorted(by_id) == ["seed-0", "seed-1", "seed-2", "seed-3"]
    assert by_id["seed-2"]["successRate"] == 0.75
    assert by_id["seed-0"]["successRate"] is None
    assert by_id["seed-0"]["task"] == {"prompt": "question 0", "groundTruth": "7"}


def test_half_of_a_prompts_tasks_come_from_the_pool_where_it_has_enough() -> None:
    pool = Pool(cap=5)
    for name in "abc":
        pool.add(make_task(name, name), 1.0, 0.25, 1)
    for shown in pick_seeds([seed_task(i) for i in range(9)], {}, pool, 10, random.Random(0)):
        from_pool = [seed for seed in shown if not seed["id"].startswith("seed")]
        assert (len(from_pool), len(shown)) == (2, 4)
        assert len({seed["id"] for seed in shown}) == 4
        assert {seed["successRate"] for seed in from_pool} == {0.25}


@pytest.mark.parametrize(("tasks", "pooled", "expected"), [(2, 0, 2), (1, 1, 2), (0, 0, 0)])
def test_a_prompt_shows_fewer_tasks_where_there_are_no_more(
    tasks: int, pooled: int, expected: int
) -> None:
    pool = Pool(cap=5)
    for i in range(pooled):
        pool.add(make_task(f"p{i}", f"p{i}"), 1.0, 0.5, 1)
    (shown,) = pick_seeds([seed_task(i) for i in range(tasks)], {}, pool, 1, random.Random(0))
    assert len(shown) == expected


def test_the_same_generator_state_picks_the_same_seeds() -> None:
    tasks = [seed_task(i) for i in range(20)]
    picks = [pick_seeds(tasks, {}, Pool(cap=5), 3, random.Random(4)) for _ in range(2)]
    assert picks[0] == picks[1]
    assert pick_seeds(tasks, {}, Pool(cap=5), 3, random.Random(5)) != picks[0]


# -- asking the model ------------------------------------------------------------------------------


def ask(role: FakeRole, client: FakeClient, stop: threading.Event) -> tuple[list, dict]:
    return generate(
        role,  # type: ignore[arg-type]
        client,  # type: ignore[arg-type]
        SEEDS,
        stop,
        epoch=3,
        answers_per_prompt=2,
        target_success=0.5,
        random_seed=11,
    )


def test_the_hooks_prompts_are_answered_as_often_as_configured() -> None:
    role, client = FakeRole(["one", "two"]), FakeClient()
    prompts, rollout = ask(role, client, threading.Event())
    assert prompts == [[{"role": "user", "content": "like seed-1"}]]
    assert role.calls == [("rollout", {"prompts": prompts, "n": 2})]
    assert [r["text"] for r in rollout["rows"]] == ["one", "two"]
    assert client.asked == [{"epoch": 3, "target": 0.5, "random_seed": 11}]


def test_a_stopped_rollout_of_the_environment_ends_the_epoch() -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(InterruptedError):
        ask(FakeRole(["one", "two"]), FakeClient(), stop)


# -- parsing answers -------------------------------------------------------------------------------


def test_an_accepted_task_knows_its_answer_its_seeds_and_its_extras() -> None:
    generation = parsed({"A": [accepted("3 + 4", level="easy")]})
    (task,) = generation.tasks
    assert (task.id, task.parent, task.parent_seeds) == ("e2-a0-t0", "e2-a0", ("seed-1",))
    assert (task.source, task.epoch, task.ground_truth) == ("environment", 2, 7)
    assert task.messages == [{"role": "user", "content": "3 + 4"}]
    assert task.extra == {"level": "easy"}
    assert task.task == {"prompt": "3 + 4", "groundTruth": 7, "level": "easy"}
    assert not generation.rejects


def test_an_answer_with_several_tasks_gives_them_all_and_numbers_them_by_place() -> None:
    generation = parsed({"A": [accepted("1"), Rejected("no sum"), accepted("2")]})
    assert [task.id for task in generation.tasks] == ["e2-a0-t0", "e2-a0-t2"]
    assert generation.answers[0].rejects == ("no sum",)


def test_a_prompt_that_was_written_already_this_epoch_is_a_duplicate() -> None:
    generation = parsed(
        {
            "A": [accepted("3 + 4"), accepted("3  + 4")],
            "B": [accepted("3 + 4 ")],
            "C": [accepted("x")],
        }
    )
    assert [task.id for task in generation.tasks] == ["e2-a0-t0", "e2-a2-t0"]
    assert generation.rejects == {"duplicate": 2}
    assert generation.answers[1].tasks == ()
    assert generation.valid_rate == pytest.approx(2 / 3)


def test_a_prompt_too_long_for_the_agent_is_rejected_and_does_not_count_as_seen() -> None:
    asked: list[str] = []

    def fits(messages: list[dict[str, str]]) -> bool:
        asked.append(messages[0]["content"])
        return len(asked) > 1

    generation = parsed({"A": [accepted("long")], "B": [accepted("long")]}, fits)
    assert generation.rejects == {"prompt-too-long": 1}
    assert [task.id for task in generation.tasks] == ["e2-a1-t0"]


def test_rejects_are_counted_by_the_hooks_own_reasons() -> None:
    generation = parsed(
        {
            "A": [Rejected("no-task")],
            "B": [Rejected("schema: prompt: too short"), Rejected("no-task")],
            "C": [accepted("ok")],
        }
    )
    assert generation.rejects == {"no-task": 2, "schema: prompt: too short": 1}
    assert generation.valid_rate == pytest.approx(1 / 3)


def test_every_answer_and_every_item_of_it_is_accounted_for() -> None:
    answers = {
        "A": [accepted("1"), accepted("1"), Rejected("bad")],
        "B": [Rejected("no-task")],
        "C": [accepted("way too long"), accepted("2")],
    }
    generation = parsed(answers, lambda messages: len(messages[0]["content"]) < 5)
    assert [a.row["text"] for a in generation.answers] == ["A", "B", "C"]
    for answer, items in zip(generation.answers, answers.values(), strict=True):
        assert len(answer.tasks) + len(answer.rejects) == len(items)
    assert len(generation.tasks) + sum(generation.rejects.values()) == 6


def test_each_answer_is_parsed_beside_the_seeds_its_own_prompt_showed() -> None:
    seeds = [
        [{"id": "a", "task": {}, "successRate": None}],
        [{"id": "b", "task": {}, "successRate": 1}],
    ]
    client = FakeClient(parsed={"x": [accepted("1")], "y": [accepted("2")]})
    generation = parse(
        client,  # type: ignore[arg-type]
        [PROMPTS[0], PROMPTS[0]],
        [row(1, "x"), row(0, "y")],
        seeds,  # type: ignore[arg-type]
        epoch=1,
        fits=lambda _: True,
    )
    assert client.asked[0]["seeds"] == [seeds[1], seeds[0]]
    assert [task.parent_seeds for task in generation.tasks] == [("b",), ("a",)]
    assert [answer.prompt for answer in generation.answers] == [1, 0]


def test_no_answers_are_no_tasks_and_a_valid_rate_of_zero() -> None:
    generation = parsed({})
    assert (generation.tasks, generation.valid_rate) == ([], 0.0)


def test_results_for_another_number_of_answers_are_refused() -> None:
    client = FakeClient()
    client.parse = lambda answers, seeds: []  # type: ignore[method-assign]
    with pytest.raises(ValueError, match="zip"):
        parse(client, PROMPTS, [row(0, "A")], SEEDS, epoch=1, fits=lambda _: True)  # type: ignore[arg-type]


def test_a_task_without_a_ground_truth_is_rejected() -> None:
    task = accepted("what?")
    task.task["groundTruth"] = None
    got = parsed({"one": [task, accepted("why?")]})
    assert [t.prompt_text for t in got.tasks] == ["why?"]
    assert dict(got.rejects) == {"no-ground-truth": 1}
