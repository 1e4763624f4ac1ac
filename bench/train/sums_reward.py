"""The reward of examples/arithmetic in Python, as veRL calls it."""

import re


def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: object
) -> float:
    """1 where the last number in the response is the sum, else 0."""
    numbers = re.findall(r"[0-9]+", solution_str)
    return 1.0 if numbers and numbers[-1] == ground_truth else 0.0
