"""A reward in Python: called as veRL calls it, and never a silent 0."""

from pathlib import Path

import pytest
from genenv.errors import ConfigError
from genenv.loop.python_reward import PythonReward, load_python_reward
from omegaconf import OmegaConf


def test_passes_what_verl_passes_and_takes_numbers_of_a_mapping_as_metrics() -> None:
    seen = {}

    def compute_score(data_source, solution_str, ground_truth, extra_info, scale):
        seen.update(source=data_source, info=extra_info)
        return {"score": scale * (solution_str == ground_truth), "length": len(solution_str)}

    reward = PythonReward(compute_score, {"scale": 2})
    right, wrong = reward.score(
        ["7", "8"], ["7", "7"], ["a", "b"], data_sources=["x", "x"], extras=[{"i": 1}, {"i": 1}]
    )
    assert (right.kind, right.value, right.metrics) == ("score", 2.0, {"length": 1.0})
    assert wrong.value == 0.0
    assert seen == {"source": "x", "info": {"i": 1}}


def test_awaits_an_async_function() -> None:
    async def compute_score(**_):
        return 0.5

    (result,) = PythonReward(compute_score, {}).score(["x"], [None], ["t"])
    assert result.value == 0.5


def test_fails_a_response_whose_reward_throws_and_scores_the_others() -> None:
    def compute_score(solution_str, **_):
        return 1 / int(solution_str)

    zero, one = PythonReward(compute_score, {}).score(["0", "1"], [None] * 2, ["t-0", "t-1"])
    assert (zero.kind, zero.code, zero.value) == ("failed", "threw", None)
    assert "t-0" in zero.reason and "ZeroDivisionError" in zero.reason
    assert one.value == 1.0


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "1", None, {"acc": 1}])
def test_fails_what_is_no_finite_number(value: object) -> None:
    (result,) = PythonReward(lambda **_: value, {}).score(["x"], [None], ["t"])
    assert (result.kind, result.code) == ("failed", "bad-result")


def _config(path: Path | None, name: str = "compute_score"):
    custom = {"path": str(path) if path else None, "name": name, "reward_kwargs": {"k": 3}}
    return OmegaConf.create({"reward": {"custom_reward_function": custom}})


def test_loads_the_named_function_with_its_arguments(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def f(solution_str, k, **_): return k * len(solution_str)\n")
    reward = load_python_reward(_config(file, "f"))
    assert reward is not None
    assert reward.score(["ab"], [None], ["t"])[0].value == 6.0


def test_has_none_where_none_is_named() -> None:
    assert load_python_reward(_config(None)) is None


@pytest.mark.parametrize(
    ("source", "code"),
    [(None, "hook-missing"), ("x = (", "hook-compile"), ("x = 1", "hook-export")],
)
def test_names_a_file_that_cannot_be_used(tmp_path: Path, source: str | None, code: str) -> None:
    file = tmp_path / "bad.py"
    if source is not None:
        file.write_text(source)
    with pytest.raises(ConfigError) as raised:
        load_python_reward(_config(file))
    assert raised.value.code == code
    assert "bad.py" in raised.value.message
