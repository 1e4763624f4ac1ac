"""math-verify on cases given as JSON lines: prints {"verdicts": [...], "seconds": ...}."""

import json
import logging
import sys
import time

from math_verify import parse, verify

logging.disable(logging.CRITICAL)


def judge(case: dict[str, str]) -> bool:
    return bool(verify(parse(f"\\boxed{{{case['gold']}}}"), parse(case["response"])))


def main() -> None:
    cases = [json.loads(line) for line in sys.stdin]
    for case in cases[:20]:
        judge(case)
    start = time.process_time()
    verdicts = [judge(case) for case in cases]
    print(json.dumps({"verdicts": verdicts, "seconds": time.process_time() - start}))


main()
