"""A reward in Python (veRL's ``reward.custom_reward_function``), for runs without a TypeScript one.

It is called as veRL calls it, ``compute_score(data_source, solution_str, ground_truth,
extra_info)``, in the loop's own process: an endless loop in it cannot be cut off.
"""

import asyncio
import importlib.util
import inspect
import math
import numbers
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from omegaconf import DictConfig, OmegaConf

from genenv.errors import ConfigError
from genenv.hooks import Message, ScoreResult


class Scorer(Protocol):
    """What gives a result for each response: the hook plane's client, or ``PythonReward``."""

    def score(
        self,
        responses: Sequence[str],
        ground_truths: Sequence[Any],
        task_ids: Sequence[str],
        *,
        messages: Sequence[list[Message]] | None = None,
        data_sources: Sequence[str | None] | None = None,
        extras: Sequence[Mapping[str, Any]] | None = None,
    ) -> list[ScoreResult]: ...


class PythonReward:
    """Scores with the user's function; an exception, or no number, is a failure."""

    def __init__(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
        self._function = function
        self._arguments = dict(arguments)
        self._told: set[str] = set()
        # Told the first failure of each kind: its code as a warning's, and its text.
        self.warn: Callable[[str, str], None] = lambda _code, _message: None

    def score(
        self,
        responses: Sequence[str],
        ground_truths: Sequence[Any],
        task_ids: Sequence[str],
        *,
        messages: Sequence[list[Message]] | None = None,
        data_sources: Sequence[str | None] | None = None,
        extras: Sequence[Mapping[str, Any]] | None = None,
    ) -> list[ScoreResult]:
        """One result a response, in order; prompts are not passed on."""
        count = len(responses)
        sources = data_sources or [None] * count
        infos = extras or [{}] * count
        calls = zip(responses, ground_truths, task_ids, sources, infos, strict=True)
        results = [self._one(*call) for call in calls]
        for result in results:
            if result.code is not None and result.code not in self._told:
                self._told.add(result.code)
                self.warn(f"hook-{result.code}", result.reason or "")
        return results

    def _one(
        self, response: str, truth: Any, task_id: str, source: str | None, info: Mapping[str, Any]
    ) -> ScoreResult:
        try:
            value = self._function(
                data_source=source,
                solution_str=response,
                ground_truth=truth,
                extra_info=dict(info),
                **self._arguments,
            )
            if inspect.iscoroutine(value):
                value = asyncio.run(value)
        except Exception as error:
            reason = f"the Python reward threw for a response to task {task_id}: {_trace(error)}"
            return ScoreResult(kind="failed", code="threw", reason=reason)
        return _result(value, task_id)


def _trace(error: Exception) -> str:
    """The error with the user's own file and line: the innermost frame."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f"\n    at {frames[-1].filename}:{frames[-1].lineno}" if len(frames) > 1 else ""
    return f"{error!r}{where}"


def _result(value: Any, task_id: str) -> ScoreResult:
    """veRL takes a number, or a mapping with ``score``; the mapping's other numbers are metrics."""
    parts = dict(value) if isinstance(value, Mapping) else {"score": value}
    score = parts.pop("score", None)
    if not _is_number(score):
        reason = (
            f"the Python reward returned {value!r:.200} for task {task_id}; "
            "return a finite number, or a mapping with one under score"
        )
        return ScoreResult(kind="failed", code="bad-result", reason=reason)
    metrics = {name: float(part) for name, part in parts.items() if _is_number(part)}
    return ScoreResult(kind="score", value=float(score), metrics=metrics)


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and math.isfinite(value)


def load_python_reward(config: DictConfig) -> PythonReward | None:
    """The function that ``reward.custom_reward_function`` names, or None where it names none.

    Raises:
        ConfigError: the file is missing, cannot be imported, or has no such function.
    """
    custom = config.reward.custom_reward_function
    if not custom.path:
        return None
    path = Path(custom.path)
    name = custom.name or "compute_score"
    if not path.is_file():
        raise ConfigError(
            f"reward.custom_reward_function.path: there is no file {path}",
            code="hook-missing",
            hint="give a Python file, or a TypeScript reward in genenv.hooks.reward",
        )
    spec = importlib.util.spec_from_file_location(f"genenv_user_reward_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ConfigError(
            f"reward.custom_reward_function.path: {path} cannot be imported: {error!r}",
            code="hook-compile",
            hint="run the file with Python to see where",
        ) from error
    function = getattr(module, name, None)
    if not callable(function):
        raise ConfigError(
            f"reward.custom_reward_function.name: {path} has no function `{name}`",
            code="hook-export",
            hint="name the function that scores one response",
        )
    arguments = OmegaConf.to_container(custom.get("reward_kwargs") or OmegaConf.create({}))
    return PythonReward(function, arguments)
