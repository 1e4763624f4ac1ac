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

if TYPE_CHECKING:
    from collections.abc import Callable

CHARACTERS = 2000
# The targets of the benchmark: ratios inside one run.
PLANE_TARGETS = {4096: 1.0, 512: 0.75, 64: 0.35}
MEMORY_TARGET = 1.15
HTTP_TARGETS = {"shared session": 30, "a connection each": 100}


def main() -> None:
    options = json.loads(sys.argv[1])
    is_quick = options["quick"]
    with HookClient(options["address"], options["token"]) as client:
        for count in PLANE_TARGETS:
            measure_plane(client, count, 0.5 if is_quick else 3.0)
        measure_http(client, options["httpPort"], 512 if is_quick else 4096)
        measure_memory(client, options["hostPid"], 100_000 if is_quick else 1_000_000)


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
