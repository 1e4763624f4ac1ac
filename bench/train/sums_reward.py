"""The reward of the training benches for Python's side: 1 if the response's last number is right."""

import re
from typing import Any


def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: Any = None, **_: Any
) -> float:
    """What ``examples/arithmetic/reward.ts`` gives."""
    numbers = re.findall(r"-?\d+", solution_str)
    return float(bool(numbers) and int(numbers[-1]) == int(ground_truth))
