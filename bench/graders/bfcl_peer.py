"""bfcl-eval's data (`data`) and its AST checker on calls given as JSON lines (`check`)."""

import json
import sys
import time
import types
from pathlib import Path

import bfcl_eval

CATEGORIES = ("simple_python", "multiple", "parallel", "parallel_multiple")


def print_data() -> None:
    root = Path(bfcl_eval.__file__).parent / "data"
    for category in CATEGORIES:
        lines = (root / f"BFCL_v4_{category}.json").read_text().splitlines()
        keys = (root / "possible_answer" / f"BFCL_v4_{category}.json").read_text().splitlines()
        answers = {row["id"]: row["ground_truth"] for row in map(json.loads, keys)}
        for row in map(json.loads, lines):
            functions, answer = row["function"], answers[row["id"]]
            print(json.dumps([row["id"], category, functions, answer]))


def stand_in_for_models() -> None:
    """The checker reads one flag from the table of models, which imports every vendor's client."""
    module = types.ModuleType("bfcl_eval.constants.model_config")
    module.MODEL_CONFIG_MAPPING = {"plain": types.SimpleNamespace(underscore_to_dot=False)}
    sys.modules[module.__name__] = module


def check() -> None:
    stand_in_for_models()
    from bfcl_eval.constants.enums import Language
    from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker

    def judge(functions: list, calls: str, answer: list, category: str) -> tuple[bool, str]:
        """From the calls' JSON text, as a response holds them: both sides start from text."""
        result = ast_checker(
            functions, json.loads(calls), answer, Language.PYTHON, category, "plain"
        )
        return bool(result["valid"]), str(result.get("error", ""))[:200]

    cases = [json.loads(line) for line in sys.stdin]
    start = time.process_time()
    verdicts = [judge(*case) for case in cases]
    print(json.dumps({"verdicts": verdicts, "seconds": time.process_time() - start}))


if __name__ == "__main__":
    check() if sys.argv[1] == "check" else print_data()
