"""The Python end of `npm run bench:scale`: one part at one size, measured in this process.

usage: python bench/scale_parts.py OPTIONS, as bench/scale.ts makes them
"""

from __future__ import annotations

import json
import random
import resource
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from boxed_answer import boxed_answer, samples
from genenv.hooks import HookClient
from genenv.loop.batch import fill_batch
from genenv.loop.generation import pick_seeds
from genenv.loop.ledger import Entry, Ledger, entry_for
from genenv.loop.pool import Pool
from genenv.loop.record import response_rows
from genenv.loop.rollouts import write_rollouts
from genenv.loop.scoring import score_groups
from genenv.loop.state import LoopState
from genenv.loop.tasks import Task, read_tasks

if TYPE_CHECKING:
    from collections.abc import Callable

# What an epoch does, whatever the size of the rest.
BATCH = 64
ENVIRONMENT_PROMPTS = 64
_ROWS_AN_EPOCH = 10_000
_ROWS_A_WORKER = 4096
_WORDS = ["".join(random.Random(i).choices("aeiourstlnmdcp", k=2 + i % 7)) for i in range(4000)]
_CHARACTERS_A_TOKEN = 4


def main() -> None:
    options = json.loads(sys.argv[1])
    part = globals()[f"measure_{options['part']}"]
    with tempfile.TemporaryDirectory(prefix="genenv-bench-") as folder:
        figures = part(options["size"], Path(folder), options)
    sys.stdout.write(json.dumps(figures | {"peakMb": peak_mb()}))


# -- the pool: tasks that it holds -----------------------------------------------------------------


def measure_pool(size: int, folder: Path, _: dict[str, Any]) -> dict[str, Any]:
    """A full pool: filled, used by epochs, saved, restored."""
    generator = random.Random(size)
    pool = Pool(size, near_duplicate=0.9)

    def fill() -> None:
        while len(pool) < size:
            pool.add(word_problem(generator, len(pool), 1), generator.random(), 0.5, 1)

    fill_s = timed(fill)
    state, data = (
        LoopState(pool, random.Random(1)),
        [word_problem(generator, i, 0) for i in range(100)],
    )
    epochs = [timed(lambda epoch=e: one_epoch(state, data, generator, epoch)) for e in range(2, 7)]
    file = folder / "pool.jsonl"

    def save() -> None:
        with file.open("w") as out:
            out.writelines(pool.to_lines())

    save_s = timed(save)
    before = peak_mb()
    restored = Pool(size, near_duplicate=0.9)
    pool._clear()
    with file.open() as lines:
        load_s = timed(lambda: restored.load_lines(lines))
    assert len(restored) == size
    return {
        "seconds": {"fill": fill_s, "epoch": median(epochs), "save": save_s, "load": load_s},
        "poolMb": round(before),
        "fileMb": round(file.stat().st_size / 1e6),
    }


def one_epoch(state: LoopState, data: list[Task], generator: random.Random, epoch: int) -> None:
    """What the loop asks of the pool in an epoch of a batch whose tasks are all new and kept."""
    pick_seeds(data, {}, state.pool, ENVIRONMENT_PROMPTS, state.generator)
    fill_batch([], state, data, size=BATCH, seed_fraction=0.5)
    for place in range(BATCH):
        task = word_problem(generator, place, epoch)
        if state.pool.near_duplicate_of(task) is None:
            state.pool.add(task, 1 + generator.random(), 0.5, epoch)
    state.to_json()


def word_problem(generator: random.Random, number: int, epoch: int) -> Task:
    """About 150 characters; two of three have numbers in them."""
    words = generator.choices(_WORDS, k=26)
    if number % 3:
        words[7], words[19] = str(generator.randrange(1000)), str(generator.randrange(1000))
    prompt = " ".join(words)
    return Task(
        id=f"e{epoch}-a{number}-t0",
        source="environment",
        messages=[{"role": "user", "content": prompt}],
        ground_truth="7",
        task={"prompt": prompt, "groundTruth": "7"},
        parent=f"e{epoch}-a{number}",
        parent_seeds=("seed-0", "seed-1", "seed-2", "seed-3"),
        epoch=epoch,
    )


# -- the ledger: rows of a run ---------------------------------------------------------------------


def measure_ledger(size: int, folder: Path, _: dict[str, Any]) -> dict[str, Any]:
    """A run of epochs of 10,000 rows, then what a resume reads."""
    generator = random.Random(size)
    rows = min(size, _ROWS_AN_EPOCH)
    models = [vars(tried(word_problem(generator, i, 1))) for i in range(rows)]
    path = folder / "tasks.parquet"
    ledger = Ledger(path)
    seconds = 0.0
    for epoch in range(1, size // rows + 1):
        entries = [Entry(**(model | {"epoch": epoch})) for model in models]
        seconds += timed(lambda e=epoch, these=entries: ledger.add(e, these))
    seconds += timed(ledger.merge)
    assert pq.read_metadata(path).num_rows == size
    again = Ledger(path)
    rewind_s = timed(lambda: again.rewind(size // rows, size))
    cut_s = timed(lambda: again.rewind(size // rows - 1, size - rows))
    return {
        "seconds": {"write": seconds, "resume": rewind_s, "cut-an-epoch": cut_s},
        "fileMb": round(path.stat().st_size / 1e6),
    }


def tried(task: Task) -> Entry:
    return entry_for(
        task,
        1,
        success_rate=0.5,
        responses=8,
        scored=8,
        agreement=None,
        reward=1.0,
        trained=True,
        kept=True,
        reason="kept",
    )


# -- the data: tasks in data.train_files -----------------------------------------------------------


def measure_data(size: int, folder: Path, _: dict[str, Any]) -> dict[str, Any]:
    """Reading them, and what an epoch asks of them."""
    generator = random.Random(size)
    file = folder / "train.parquet"
    schema = pa.schema(
        [
            ("prompt", pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))),
            ("reward_model", pa.struct([("ground_truth", pa.string())])),
        ]
    )
    with pq.ParquetWriter(file, schema) as writer:
        for start in range(0, size, 10_000):
            rows = [
                {
                    "prompt": word_problem(generator, i, 0).messages,
                    "reward_model": {"ground_truth": "7"},
                }
                for i in range(start, min(size, start + 10_000))
            ]
            writer.write_table(pa.Table.from_pylist(rows, schema))
    tasks: list[Task] = []
    read_s = timed(lambda: tasks.extend(read_tasks([str(file)], "seed")))
    assert len(tasks) == size
    state = LoopState(Pool(1000, near_duplicate=0.9), random.Random(1))
    one_epoch(state, tasks, generator, 1)
    epochs = [timed(lambda e=e: one_epoch(state, tasks, generator, e)) for e in range(2, 7)]
    return {"seconds": {"read": read_s, "epoch": median(epochs)}}


# -- the hook plane --------------------------------------------------------------------------------


def measure_workers(size: int, _: Path, options: dict[str, Any]) -> dict[str, Any]:
    """So many reward workers with a connection each on one hook host, the same work for each."""
    responses, truths, tasks = samples(64, 500, seed=4)
    expected = sum(boxed_answer(*pair) for pair in zip(responses, truths, strict=True))
    calls = _ROWS_A_WORKER // len(responses)
    clients = [HookClient(options["address"]) for _ in range(size)]
    longest: list[float] = []

    def work(client: HookClient) -> None:
        for _ in range(calls):
            started = time.perf_counter()
            results = client.score(responses, truths, tasks)
            longest.append(time.perf_counter() - started)
            assert abs(sum(r.value or 0.0 for r in results) - expected) < 1e-6

    for client in clients:
        client.score(responses, truths, tasks)

    def all_at_once() -> None:
        threads = [threading.Thread(target=work, args=(client,)) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    seconds = on_the_clock(all_at_once)
    assert len(longest) == size * calls
    for client in clients:
        client.close()
    return {
        "seconds": {"score": seconds},
        "rowsPerSecond": round(size * calls * len(responses) / seconds),
        "p95Ms": round(1000 * sorted(longest)[int(0.95 * len(longest))], 1),
        "hostPeakMb": round(host_peak_mb(options["hostPid"])),
    }


def measure_rollouts(size: int, folder: Path, options: dict[str, Any]) -> dict[str, Any]:
    return scored_and_written(size, 256, folder, options)


def measure_tokens(size: int, folder: Path, options: dict[str, Any]) -> dict[str, Any]:
    return scored_and_written(1024, size, folder, options)


def scored_and_written(
    count: int, tokens: int, folder: Path, options: dict[str, Any]
) -> dict[str, Any]:
    """All that the loop does with an epoch's responses, but for the engines' own work on them."""
    texts, _, _ = samples(min(count, 1024), tokens * _CHARACTERS_A_TOKEN, seed=5)
    generator = random.Random(count)
    n = 8
    problems = [word_problem(generator, i, 1) for i in range(-(-count // n))]
    rows = [
        {"prompt": i // n, "text": texts[i % len(texts)], "tokens": tokens} for i in range(count)
    ]

    def epoch(client: HookClient) -> None:
        groups = score_groups(client, problems, rows, success_threshold=1.0, on_failure="abstain")
        write_rollouts(folder, "epoch-000001", response_rows(1, "train", groups))

    with HookClient(options["address"]) as client:
        epoch(client)
        seconds = median([on_the_clock(lambda: epoch(client)) for _ in range(3)])
    return {
        "seconds": {"score-and-write": seconds},
        "responsesPerSecond": round(count / seconds),
        "hostPeakMb": round(host_peak_mb(options["hostPid"])),
    }


# -- a role's driver process -----------------------------------------------------------------------


def measure_driver(size: int, _: Path, options: dict[str, Any]) -> dict[str, Any]:
    """What the driver makes of finished responses of 512 tokens: text, and JSON for the loop."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(options["tokenizer"])
    texts, _, _ = samples(256, 512 * _CHARACTERS_A_TOKEN, seed=6)
    ids = [tokenizer(text)["input_ids"][:512] for text in texts]
    tokens = [ids[i % len(ids)] for i in range(size)]
    decoded: list[str] = []
    decode_s = timed(lambda: decoded.extend(tokenizer.batch_decode(tokens)))
    rows = [
        {
            "prompt": i // 8,
            "key": f"uid_{i}",
            "tag": {"response_len": 512},
            "text": t,
            "tokens": 512,
        }
        for i, t in enumerate(decoded)
    ]
    send_s = timed(lambda: json.loads(json.dumps({"result": {"rows": rows, "failed": []}})))
    return {
        "seconds": {"decode": decode_s, "send": send_s},
        "tokensPerSecond": round(sum(map(len, tokens)) / decode_s),
    }


# -- helpers ---------------------------------------------------------------------------------------


def timed(run: Callable[[], object]) -> float:
    """Seconds of this process's own work: what else the machine does is not counted."""
    started = time.process_time()
    run()
    return time.process_time() - started


def on_the_clock(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def host_peak_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024 / 1e6


if __name__ == "__main__":
    main()
