"""The ledger and the rollouts' rows: every task and answer is there, with the reason it got."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from genenv.hooks import Decision
from genenv.loop.batch import Batch
from genenv.loop.generation import Answer, Generation
from genenv.loop.record import answer_rows, ledger_entries, response_rows
from genenv.loop.rollouts import write_rollouts
from loop_fakes import abstained, failed, group, make_task, row, scored, seed_task

PROMPTS = [[{"role": "user", "content": "write"}]]


def written(task_id: str, parent: str) -> object:
    return make_task(task_id, f"prompt {task_id}", parent=parent, parent_seeds=("seed-0",), epoch=2)


TRIED, FULL = written("e2-a0-t0", "e2-a0"), written("e2-a1-t0", "e2-a1")
OLD = make_task("e1-a0-t0", "prompt old", parent="e1-a0", epoch=1)
ANSWERS = [
    Answer("e2-a0", row(0, "good"), 0, ("seed-0",), (TRIED,)),
    Answer("e2-a1", row(0, "late"), 0, ("seed-0",), (FULL,), ("duplicate",)),
    Answer("e2-a2", row(0, "nonsense"), 0, ("seed-0",), (), ("no-task",)),
]
GENERATION = Generation(PROMPTS, ANSWERS, Counter({"duplicate": 1, "no-task": 1}))
REWARDS = {"e2-a0": 1.0, "e2-a1": None, "e2-a2": 0.0}
KEEP = {"e2-a0-t0": Decision("e2-a0-t0", keep=True, weight=1.0, reason="in the band")}


def entries_of(groups: list, decisions: dict[str, Decision] | None = None) -> dict[str, object]:
    trained = {g.task.id for g in groups if g.trainable()}
    batch = Batch([g.task for g in groups], {}, [FULL], [(OLD, "batch-full")])
    entries = ledger_entries(
        2,
        GENERATION,
        batch,
        groups,
        trained,
        REWARDS,
        KEEP if decisions is None else decisions,
        {"e2-a0-t0": 0.75},
    )
    return {e.task or f"{e.parent}: {e.reason}": e for e in entries}


def test_every_task_and_every_reject_has_an_entry_with_a_reason() -> None:
    groups = [group(TRIED, scored(1.0), scored(0.0)), group(seed_task(0), scored(1.0), scored(1.0))]
    entries = entries_of(groups)
    assert {name: e.reason for name, e in entries.items()} == {
        "e2-a0-t0": "in the band",
        "seed-0": "seed",
        "e2-a1-t0": "waiting",
        "e1-a0-t0": "batch-full",
        "e2-a1: duplicate": "duplicate",
        "e2-a2: no-task": "no-task",
    }


def test_a_tried_task_has_its_success_rate_its_answers_reward_and_its_fate() -> None:
    entry = entries_of([group(TRIED, scored(1.0), scored(0.0), failed())])["e2-a0-t0"]
    assert (entry.success_rate, entry.responses, entry.scored) == (0.5, 3, 2)
    assert (entry.reward, entry.trained, entry.kept) == (0.75, True, True)
    assert (entry.parent, entry.parent_seeds, entry.written_epoch) == ("e2-a0", ("seed-0",), 2)
    assert (entry.prompt, entry.ground_truth) == ("prompt e2-a0-t0", '"7"')
    assert entry.answer is None


def test_a_task_the_curriculum_dropped_says_why() -> None:
    dropped = {"e2-a0-t0": Decision("e2-a0-t0", keep=False, weight=0.0, reason="too easy")}
    entry = entries_of([group(TRIED, scored(1.0), scored(1.0))], dropped)["e2-a0-t0"]
    assert (entry.kept, entry.reason, entry.trained) == (False, "too easy", True)


@pytest.mark.parametrize(
    ("scores", "reason", "responses"),
    [([], "rollout-failed", 0), ([failed(), abstained()], "no-score", 2)],
)
def test_a_task_without_a_success_rate_says_whether_the_rollout_or_the_scores_failed(
    scores: list, reason: str, responses: int
) -> None:
    entry = entries_of([group(TRIED, *scores)], {})["e2-a0-t0"]
    assert (entry.reason, entry.responses, entry.scored) == (reason, responses, 0)
    assert (entry.success_rate, entry.trained, entry.kept) == (None, False, False)


def test_a_task_with_one_score_has_a_success_rate_but_was_not_trained_on() -> None:
    entry = entries_of([group(TRIED, scored(1.0), failed())])["e2-a0-t0"]
    assert (entry.success_rate, entry.trained) == (1.0, False)


def test_seed_data_is_never_kept_and_has_no_reward() -> None:
    entry = entries_of([group(seed_task(0), scored(1.0), scored(0.0))])["seed-0"]
    assert (entry.kept, entry.reward, entry.parent, entry.written_epoch) == (False, None, None, 0)


def test_a_rejected_answer_keeps_its_text_and_its_reward_of_zero() -> None:
    entry = entries_of([])["e2-a2: no-task"]
    assert (entry.answer, entry.reward, entry.task, entry.prompt) == ("nonsense", 0.0, None, None)


def test_an_epoch_without_anything_has_no_entries() -> None:
    nothing = Batch([], {}, [], [])
    assert ledger_entries(1, Generation([], []), nothing, [], set(), {}, {}, {}) == []


def test_a_task_that_waits_since_an_earlier_epoch_has_no_entry_until_it_is_tried() -> None:
    waiting = Batch([], {}, [OLD], [])
    assert ledger_entries(2, Generation([], []), waiting, [], set(), {}, {}, {}) == []


# -- files -----------------------------------------------------------------------------------------


def test_every_response_is_a_row_with_its_score_or_why_it_has_none(tmp_path: Path) -> None:
    tried = group(TRIED, scored(0.5, format=1.0), abstained("no unit"), failed("timeout", "1 s"))
    rows = response_rows(2, "train", [tried]) + answer_rows(2, GENERATION, REWARDS)
    write_rollouts(tmp_path / "rollouts", "epoch-000002", rows)
    got = pq.read_table(tmp_path / "rollouts" / "epoch-000002.parquet").to_pylist()
    seen = [(r["role"], r["response"], r["score"], r["failure"], r["reason"]) for r in got]
    assert seen == [
        ("agent", "r0", 0.5, None, None),
        ("agent", "r1", None, None, "no unit"),
        ("agent", "r2", None, "timeout", "1 s"),
        ("environment", "good", 1.0, None, None),
        ("environment", "late", None, None, "duplicate"),
        ("environment", "nonsense", 0.0, None, "no-task"),
    ]
    assert [r["success"] for r in got[:3]] == [False, None, None]
    assert json.loads(got[0]["parts"]) == {"format": 1.0}
    assert json.loads(got[3]["prompt"]) == PROMPTS[0]


def test_a_prompt_that_rolled_out_nothing_leaves_no_rows() -> None:
    assert response_rows(1, "validation", [group(TRIED)]) == []
