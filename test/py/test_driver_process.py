"""A crash in veRL or vLLM comes down to one line and the log's path."""

import subprocess
import sys
from pathlib import Path

import pytest
from genenv.driver_process import died, failed, last_words, point_of

VLLM = """\
(EngineCore pid=4711) INFO 11-30 12:00:00 [core.py:91] Initializing an LLM engine
(EngineCore pid=4711) ERROR 11-30 12:00:09 [core.py:708] EngineCore failed to start.
(EngineCore pid=4711) ERROR 11-30 12:00:09 [core.py:708] Traceback (most recent call last):
(EngineCore pid=4711) ERROR 11-30 12:00:09 [core.py:708]   File "core.py", line 699
(EngineCore pid=4711) ERROR 11-30 12:00:09 [core.py:708]     engine = EngineCoreProc(*args)
(EngineCore pid=4711) ERROR 11-30 12:00:09 [c.py:1] ValueError: 9000 is over the model's 2048
Traceback (most recent call last):
  File "vllm/v1/engine/utils.py", line 770, in launch
    raise RuntimeError("Engine core initialization failed.")
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""
RAY = """\
\x1b[36mray::WorkerDict.actor_update()\x1b[39m (pid=88, ip=10.0.0.1)
  File "verl/workers/fsdp_workers.py", line 500, in update_actor
    loss.backward()
    ^^^^^^^^^^^^^^^
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.

The above exception was the direct cause of the following exception:

ray.exceptions.RayTaskError(OutOfMemoryError): ray::WorkerDict.actor_update() (pid=88)
"""


@pytest.mark.parametrize(
    ("text", "point"),
    [
        (VLLM, "ValueError: 9000 is over the model's 2048"),
        (RAY, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."),
        ("one\nstep 3 of 9\n\n", "step 3 of 9"),
        ('Traceback (most recent call last):\n  File "a.py", line 1\n', "(no message)"),
        ("EngineDeadError: the engine ended\n", "EngineDeadError: the engine ended"),
        ("", "(no message)"),
        ("KeyError: " + "x" * 1000, ("KeyError: " + "x" * 1000)[:300]),
    ],
)
def test_the_point_of_a_text(text: str, point: str) -> None:
    assert point_of(text) == point


def test_a_log_that_is_not_there_has_no_words(tmp_path: Path) -> None:
    assert last_words(tmp_path / "none.log") == "(no log)"


def test_a_failure_of_a_worker_names_the_workers_own_error(tmp_path: Path) -> None:
    log = tmp_path / "agent.log"
    failure = {"type": "ray.exceptions.RayTaskError", "message": VLLM}
    error = failed("the agent role failed", "role-failed", failure, log)
    assert error.code == "role-failed"
    assert error.message == ("the agent role failed: ValueError: 9000 is over the model's 2048")
    assert error.hint == f"see {log}"


def test_a_failure_for_want_of_memory_says_what_to_take_less_of(tmp_path: Path) -> None:
    log = tmp_path / "agent.log"
    failure = {"type": "ray.exceptions.RayTaskError", "message": RAY}
    error = failed("the agent role failed", "role-failed", failure, log)
    assert error.code == "no-memory"
    assert error.message == (
        "the agent role failed: torch.OutOfMemoryError: CUDA out of memory. "
        "Tried to allocate 2.00 GiB."
    )
    assert error.hint == (
        "take less: data.train_batch_size, actor_rollout_ref.rollout.n, the lengths, "
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu or the model; on a GPU also "
        f"actor_rollout_ref.rollout.gpu_memory_utilization; see {log}"
    )


@pytest.mark.parametrize(
    ("program", "ended"),
    [
        ("raise SystemExit(3)", "ended with exit code 3;"),
        (
            "import os; os.kill(os.getpid(), 9)",
            "ended with exit code -9 (the system does that when memory runs out);",
        ),
    ],
)
def test_a_process_that_ended_says_how_and_why(tmp_path: Path, program: str, ended: str) -> None:
    log = tmp_path / "agent.log"
    log.write_text(VLLM)
    process = subprocess.Popen([sys.executable, "-c", program])
    error = died("the agent role's", "role-died", process, log)
    assert error.code == "role-died"
    assert error.message == (
        f"the agent role's process {ended} its log ends with: "
        "ValueError: 9000 is over the model's 2048"
    )
