"""The Python end of `npm run bench:hooks`: times ways to score, one JSON object a line.

usage: python bench/hooks_client.py OPTIONS, as bench/hooks.ts makes them
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp
from boxed_answer import boxed_answer, samples
from genenv.hooks import HookClient
from genenv.micro_batch import MicroBatcher

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CHARACTERS = 2000
# The targets of the benchmark: ratios inside one run.
PLANE_TARGETS = {4096: 1.0, 512: 0.75, 64: 0.35}
MEMORY_TARGET = 1.15
HEAVY_TARGET = 1.0
_PEER_ANSWERS = 64
PATH_TARGET = 1.5
OVERLAP_TARGET = 1.0
CONCURRENCY_TARGET = 0.8
HTTP_TARGETS = {"shared session": 30, "a connection each": 100}


def main() -> None:
    options = json.loads(sys.argv[1])
    part, is_quick = options["part"], options["quick"]
    with HookClient(options["address"]) as client:
        if part == "plane":
            for count in PLANE_TARGETS:
                measure_plane(client, count, 0.5 if is_quick else 4.0)
        elif part == "http":
            measure_http(client, options["httpPort"], 512 if is_quick else 4096)
        elif part == "memory":
            measure_memory(client, options["hostPid"], 100_000 if is_quick else 1_000_000)
        elif part == "heavy":
            for count in PLANE_TARGETS:
                measure_heavy(client, options["mathVerify"], count)
        elif part == "waiting":
            measure_concurrency(client, 64 if is_quick else 512)
            measure_overlap(options["address"], client, 128 if is_quick else 1024)
        else:
            measure_path(client, options["tokenizer"], 256 if is_quick else 4096)


def measure_plane(client: HookClient, count: int, seconds: float) -> None:
    responses, truths, tasks = samples(count, CHARACTERS, seed=count)

    def in_process() -> float:
        return sum(boxed_answer(*pair) for pair in zip(responses, truths, strict=True))

    def plane() -> float:
        return sum(result.value or 0.0 for result in client.score(responses, truths, tasks))

    assert abs(in_process() - plane()) < 1e-6 * count
    python_s, plane_s = interleaved(in_process, plane, seconds)
    report(
        f"hook plane / in-process Python, {count} completions",
        python_s / plane_s,
        PLANE_TARGETS[count],
        pythonPerSecond=count / python_s,
        planePerSecond=count / plane_s,
    )


def measure_http(client: HookClient, port: int, count: int) -> None:
    responses, truths, tasks = samples(count, CHARACTERS, seed=1)
    plane_s = min(timed(lambda: client.score(responses, truths, tasks)) for _ in range(5))
    expected = sum(result.value or 0.0 for result in client.score(responses, truths, tasks))
    for name, keep_open in (("shared session", True), ("a connection each", False)):
        started = time.perf_counter()
        values = asyncio.run(score_over_http(port, responses, truths, keep_open))
        http_s = time.perf_counter() - started
        assert abs(sum(values) - expected) < 1e-6 * count
        report(
            f"hook plane / HTTP request a sample ({name}), {count} completions",
            http_s / plane_s,
            HTTP_TARGETS[name],
            httpPerSecond=count / http_s,
            planePerSecond=count / plane_s,
        )


def measure_memory(client: HookClient, host_pid: int, count: int) -> None:
    """Resident memory after `count` completions over that after the first fifth of them."""
    responses, truths, tasks = samples(4096, 400, seed=2)
    batches = -(-count // len(responses))
    early: dict[str, float] = {}
    for batch in range(batches):
        if batch == batches // 5:
            early = {"host": resident_mb(host_pid), "client": resident_mb(os.getpid())}
        client.score(responses, truths, tasks)
    late = {"host": resident_mb(host_pid), "client": resident_mb(os.getpid())}
    for side, mb in late.items():
        report(
            f"memory of the {side} after {count} completions / after a fifth of them",
            mb / early[side],
            MEMORY_TARGET,
            is_bound=True,
            earlyMb=early[side],
            lateMb=mb,
        )


def measure_heavy(client: HookClient, peer: str, count: int) -> None:
    """The grader `math` on both cores against math-verify in this process."""
    sys.path.insert(0, peer)
    import logging

    from math_verify import parse, verify

    logging.disable(logging.CRITICAL)
    responses, truths, tasks = samples(count, 500, seed=count)

    # It takes milliseconds an answer: its rate is that of some of them.
    some = min(count, _PEER_ANSWERS)

    def in_process() -> float:
        return sum(
            float(verify(parse(rf"\boxed{{{truth}}}"), parse(response)))
            for response, truth in zip(responses[:some], truths[:some], strict=True)
        )

    def plane() -> list[float]:
        return [result.value or 0.0 for result in client.score(responses, truths, tasks)]

    assert abs(in_process() - sum(plane()[:some])) < 1e-6
    python_s = min(timed(in_process) for _ in range(2)) * count / some
    plane_s = statistics.median(timed(plane) for _ in range(5))
    report(
        f"hook plane with `math` / math-verify in-process, {count} answers of 500 characters",
        python_s / plane_s,
        HEAVY_TARGET,
        pythonPerSecond=count / python_s,
        planePerSecond=count / plane_s,
    )


def measure_concurrency(client: HookClient, count: int) -> None:
    """Calls of a second each at concurrency 64, over the seconds that this takes at best."""
    client.score(["1"], ["-"], ["t"])
    took_s = timed(lambda: client.score(["1000"] * count, ["-"] * count, ["t"] * count))
    report(
        f"{count} calls of 1 s at concurrency 64: the least possible time / the time it took",
        count / 64 / took_s,
        CONCURRENCY_TARGET,
        milliseconds=1000 * took_s,
    )


def measure_overlap(address: str, client: HookClient, count: int) -> None:
    """A reward of 200 ms; responses come evenly over six seconds, as out of a generation."""
    span_s = 6 * count / 1024
    lanes = [HookClient(address) for _ in range(4)]

    def work(lane: int, items: Sequence[int]) -> list[float]:
        some = len(items)
        results = lanes[lane].score(["200"] * some, ["-"] * some, ["t"] * some)
        return [result.value or 0.0 for result in results]

    async def overlapped() -> float:
        batches = MicroBatcher(work, lanes=len(lanes), max_rows=256)

        async def one(row: int) -> float:
            await asyncio.sleep(span_s * row / count)
            return await batches.submit(row)

        return sum(await asyncio.gather(*(one(row) for row in range(count))))

    def after() -> None:
        time.sleep(span_s)
        client.score(["200"] * count, ["-"] * count, ["t"] * count)

    started = time.perf_counter()
    assert asyncio.run(overlapped()) == count
    overlap_s, batch_s = time.perf_counter() - started, timed(after)
    for lane in lanes:
        lane.close()
    report(
        f"overlap / batch, a reward of 200 ms at concurrency 64, {count} responses",
        batch_s / overlap_s,
        OVERLAP_TARGET,
        overlapMs=1000 * overlap_s,
        batchMs=1000 * batch_s,
        generationMs=1000 * span_s,
    )


def measure_path(client: HookClient, tokenizer_path: str, count: int) -> None:
    """From finished rollouts (token ids) to scores in the trainer's hands."""
    from hooks_verl import RewardLoop, plane_path

    verl = RewardLoop(tokenizer_path)
    import torch
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tokenizer_path)
    responses, truths, tasks = samples(count, 1500, seed=3)
    tokens = [torch.tensor(ids) for ids in tokenizer(responses, verbose=False)["input_ids"]]
    prompts = [ids[:100] for ids in tokens]
    try:
        expected = sum(verl.score(tokens, prompts, truths))
        assert (
            abs(sum(plane_path(client, tokenizer, tokens, truths, tasks)) - expected) < 1e-6 * count
        )
        verl_s = min(timed(lambda: verl.score(tokens, prompts, truths)) for _ in range(2))
    finally:
        verl.close()
    plane_s = statistics.median(
        timed(lambda: plane_path(client, tokenizer, tokens, truths, tasks)) for _ in range(5)
    )
    report(
        f"token ids to scores: hook plane / veRL's reward loop (naive), {count} rollouts",
        verl_s / plane_s,
        PATH_TARGET,
        verlPerSecond=count / verl_s,
        planePerSecond=count / plane_s,
        tokensMean=sum(map(len, tokens)) / count,
    )


def resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


async def score_over_http(
    port: int, responses: list[str], truths: list[str], keep_open: bool
) -> list[float]:
    url = f"http://127.0.0.1:{port}/"
    gate = asyncio.Semaphore(64)

    async def one(session: aiohttp.ClientSession, response: str, truth: str) -> float:
        body = {"solution_str": response, "ground_truth": truth}
        async with gate, session.post(url, json=body) as reply:
            return float((await reply.json())["score"])

    async def alone(response: str, truth: str) -> float:
        async with aiohttp.ClientSession() as session:
            return await one(session, response, truth)

    pairs = list(zip(responses, truths, strict=True))
    if not keep_open:
        return await asyncio.gather(*(alone(*pair) for pair in pairs))
    async with aiohttp.ClientSession() as session:
        return await asyncio.gather(*(one(session, *pair) for pair in pairs))


def interleaved(
    first: Callable[[], float], second: Callable[[], float], seconds: float
) -> tuple[float, float]:
    """Median seconds of each, taken in turns so that both meet the same weather."""
    for _ in range(3):
        first()
        second()
    times: tuple[list[float], list[float]] = ([], [])
    until = time.perf_counter() + seconds
    while time.perf_counter() < until or len(times[0]) < 5:
        times[0].append(timed(first))
        times[1].append(timed(second))
    return statistics.median(times[0]), statistics.median(times[1])


def timed(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def report(
    name: str, ratio: float, target: float, *, is_bound: bool = False, **figures: float
) -> None:
    """Prints a result; the ratio should be at least the target, or at most it where `is_bound`."""
    rounded = {key: round(value) for key, value in figures.items()}
    goal = {"atMost": target} if is_bound else {"atLeast": target}
    line = {"name": name, "ratio": round(ratio, 3), **goal, **rounded}
    sys.stdout.write(f"{json.dumps(line)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
