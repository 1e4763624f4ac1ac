"""Single calls gathered into batches: what arrives while calls are under way goes out together."""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Item = TypeVar("Item")
Result = TypeVar("Result")


class MicroBatcher(Generic[Item, Result]):
    """Runs ``work`` in a few lanes, a thread each; nothing waits while a lane is free.

    A batch takes its share of what waits, so that slow calls are under way in every lane.
    """

    def __init__(
        self,
        work: Callable[[int, Sequence[Item]], Sequence[Result]],
        *,
        lanes: int,
        max_rows: int,
    ) -> None:
        """``work`` gets its lane's number and the items, and gives a result for each, in order."""
        self._work = work
        self._max_rows = max_rows
        self._lanes = list(range(lanes))
        self._lane_count = lanes
        self._threads = ThreadPoolExecutor(lanes, thread_name_prefix="genenv-reward")
        self._waiting: deque[tuple[Item, asyncio.Future[Result]]] = deque()
        self._is_called = False
        self._running: set[asyncio.Task[None]] = set()

    async def submit(self, item: Item) -> Result:
        """The item's result; raises what ``work`` raised over its batch."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()
        self._waiting.append((item, future))
        if not self._is_called:
            # After whatever else arrives in this turn of the event loop.
            self._is_called = True
            loop.call_soon(self._dispatch)
        return await future

    def _dispatch(self) -> None:
        self._is_called = False
        while self._waiting and self._lanes:
            share = -(-len(self._waiting) // len(self._lanes))
            rows = min(share, self._max_rows)
            batch = [self._waiting.popleft() for _ in range(rows)]
            task = asyncio.ensure_future(self._run(self._lanes.pop(), batch))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _run(self, lane: int, batch: list[tuple[Item, asyncio.Future[Result]]]) -> None:
        items = [item for item, _ in batch]
        loop = asyncio.get_running_loop()
        try:
            results = await loop.run_in_executor(self._threads, self._work, lane, items)
            for (_, future), result in zip(batch, results, strict=True):
                if not future.done():
                    future.set_result(result)
        except Exception as error:
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
        finally:
            self._lanes.append(lane)
            self._dispatch()
