"""The benchmark's reward in Python, and its data: boxed answers at the end of long completions."""

from __future__ import annotations

import random

_TEXT = r"the quick brown fox jumps over a dog and so we compute x = 3y + 4 with \frac{1}{2} in it"
_WORDS = _TEXT.split()
_DROPPED = ("\n", r"\!", r"\left", r"\right", r"^{\circ}", r"\$", " ")


def boxed_answer(response: str, ground_truth: str) -> float:
    """1 where the last boxed answer equals the ground truth, and 0.1 for the answer's tags."""
    boxed = _last_boxed(response)
    if boxed is None:
        return 0.0
    is_right = _normalised(boxed) == _normalised(ground_truth)
    opening = response.find("<answer>")
    is_tagged = opening >= 0 and response.find("</answer>", opening) >= 0
    return (1.0 if is_right else 0.0) + (0.1 if is_tagged else 0.0)


def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: object
) -> float:
    """The same under the name and with the arguments by which veRL calls a reward."""
    return boxed_answer(solution_str, ground_truth)


def _last_boxed(response: str) -> str | None:
    start = response.rfind(r"\boxed{")
    if start < 0:
        return None
    depth = 0
    for at in range(start + 6, len(response)):
        character = response[at]
        if character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0:
                return response[start + 7 : at]
    return None


def _normalised(text: str) -> str:
    for part in _DROPPED:
        text = text.replace(part, "")
    return text.replace(r"\\", "\\").replace("tfrac", "frac").replace("dfrac", "frac")


def samples(count: int, characters: int, seed: int) -> tuple[list[str], list[str], list[str]]:
    """Responses of so many characters, ground truths, task ids; half of the answers are right."""
    draw = random.Random(seed)
    responses, truths = [], []
    for row in range(count):
        answer = row % 97
        given = answer if row % 2 else answer + 1
        end = rf" <answer>{given}</answer> so \boxed{{\dfrac{{ {given} }}{{2}}}}. Done."
        words: list[str] = []
        size = 0
        while size < characters - len(end):
            word = draw.choice(_WORDS)
            words.append(word)
            size += len(word) + 1
        responses.append(" ".join(words)[: characters - len(end)] + end)
        truths.append(rf"\frac{{{answer}}}{{2}}")
    return responses, truths, [f"t-{row // 4}" for row in range(count)]
