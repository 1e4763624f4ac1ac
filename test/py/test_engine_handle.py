"""The control process's end of a session, on a driver that only acts as one."""

import shlex
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from genenv.engine import handle, sessions
from genenv.engine.handle import EngineHandle
from genenv.errors import DataError, PythonError, WorkerError

HERE = Path(__file__).parent
NEVER = threading.Event()
ENVIRONMENT = {"PYTHONPATH": str(HERE.parent.parent / "py")}


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EngineHandle]:
    python = tmp_path / "python"
    command = shlex.join([sys.executable, str(HERE / "fake_engine.py")])
    python.write_text(f'#!/bin/sh\nexec {command} "$3"\n')
    python.chmod(0o700)
    monkeypatch.setattr(handle.sys, "executable", str(python))
    made = EngineHandle(tmp_path, tmp_path / "engine.log")
    yield made
    made.stop()


def start(engine: EngineHandle, behaviour: str = "works", timeout_s: float = 30.0) -> dict:
    return engine.start({"behaviour": behaviour}, ENVIRONMENT, timeout_s, NEVER)


def test_start_gives_what_the_driver_says_when_it_is_ready(engine: EngineHandle) -> None:
    assert start(engine) == {"seconds": 1.5}


def test_a_driver_that_dies_at_its_start_is_reported_with_its_last_words(
    engine: EngineHandle,
) -> None:
    with pytest.raises(WorkerError, match=r"exit code 3; its log ends with: last words") as error:
        start(engine, "dies before it connects")
    assert error.value.code == "engine-died"


def test_a_driver_that_cannot_start_is_reported_with_its_reason(engine: EngineHandle) -> None:
    with pytest.raises(WorkerError, match=r"ValueError: such model") as error:
        start(engine, "cannot start")
    assert error.value.code == "engine-failed"


def test_a_driver_that_takes_too_long_is_late(engine: EngineHandle) -> None:
    with pytest.raises(WorkerError) as error:
        start(engine, "never connects", timeout_s=0.5)
    assert error.value.code == "engine-late"


def test_a_start_can_be_stopped(engine: EngineHandle) -> None:
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    with pytest.raises(InterruptedError):
        engine.start({"behaviour": "never connects"}, ENVIRONMENT, 30.0, stop)


def test_the_driver_outlives_the_thread_that_started_it(engine: EngineHandle) -> None:
    thread = threading.Thread(target=start, args=(engine,))
    thread.start()
    thread.join()
    time.sleep(0.2)
    assert engine.call("echo", {"a": 1}, NEVER) == {"a": 1}


def test_calls_overlap_and_each_gets_its_own_answer(engine: EngineHandle) -> None:
    start(engine)
    stop = threading.Event()
    events: list[dict] = []
    results: list[object] = []
    held = threading.Thread(
        target=lambda: results.append(engine.call("hold", {}, stop, events.append))
    )
    held.start()
    assert engine.call("echo", {"b": 2}, NEVER) == {"b": 2}
    assert results == []
    stop.set()
    held.join()
    # What comes after the cancel is not told.
    assert (results, events) == ([None], [{"at": "held"}])


def test_an_error_of_genenvs_own_comes_as_what_it_is(engine: EngineHandle) -> None:
    start(engine)
    failure = {"code": "prompt-too-long", "message": "prompt 1 has", "hint": "shorten it"}
    with pytest.raises(DataError) as error:
        engine.call("fail", failure | {"type": "genenv.errors.DataError"}, NEVER)
    assert (error.value.code, error.value.hint) == ("prompt-too-long", "shorten it")
    with pytest.raises(WorkerError, match="engine failed"):
        engine.call("fail", failure | {"type": "builtins.KeyError"}, NEVER)


def test_a_death_ends_every_call_and_the_later_ones(engine: EngineHandle) -> None:
    start(engine)
    errors: list[WorkerError] = []

    def hold() -> None:
        with pytest.raises(WorkerError) as error:
            engine.call("hold", {}, NEVER)
        errors.append(error.value)

    held = threading.Thread(target=hold)
    held.start()
    with pytest.raises(WorkerError, match="exit code -9"):
        engine.call("die", {}, NEVER)
    held.join(timeout=5)
    assert [error.code for error in errors] == ["engine-died"]
    with pytest.raises(WorkerError):
        engine.call("echo", {}, NEVER)


def test_a_session_that_is_not_open_is_named() -> None:
    with pytest.raises(PythonError, match="no open session 'a'"):
        sessions.status({"id": "a"}, lambda _: None, NEVER)


@pytest.mark.parametrize(
    ("has_bf16", "dtype", "expected"),
    [(True, None, "bfloat16"), (False, None, "float32"), (False, "bfloat16", "bfloat16")],
)
def test_a_cpu_computes_in_what_it_is_good_at(
    monkeypatch: pytest.MonkeyPatch, has_bf16: bool, dtype: str | None, expected: str
) -> None:
    monkeypatch.setattr(sessions, "cpu_has_bf16", lambda: has_bf16)
    params = {"model": "m", "dtype": dtype, "maxModelTokens": None, "engine": {}}
    params["kvCacheGib"] = 2
    arguments = sessions._arguments(params, "cpu")
    assert arguments["dtype"] == expected
    assert arguments["enforce_eager"] is True
    assert arguments["kv_cache_memory_bytes"] == 2 * 2**30


def test_the_callers_own_engine_arguments_win() -> None:
    engine = {"dtype": "half", "tensor_parallel_size": 2}
    params = {"model": "m", "dtype": None, "maxModelTokens": 64, "engine": engine}
    arguments = sessions._arguments(params, "cuda")
    assert arguments["dtype"] == "half"
    assert arguments["tensor_parallel_size"] == 2
    assert arguments["max_model_len"] == 64
    assert "enforce_eager" not in arguments
