"""Runs a notebook's first cells, and interrupts the one that watches a run.

Usage: interrupt_cell.py NOTEBOOK. Prints one JSON object: how often the cell's one display was
drawn, its last text, and what was printed, by a cell after the interrupt too.
"""

import json
import queue
import re
import sys
import time

import nbformat
from jupyter_client.manager import start_new_kernel

DEADLINE_S = 400


def main(file: str) -> None:
    cells = [cell.source for cell in nbformat.read(file, 4).cells if cell.cell_type == "code"]
    manager, client = start_new_kernel(kernel_name="tslab", startup_timeout=60)
    try:
        print(json.dumps(watch_and_interrupt(cells, manager, client)))
    finally:
        # A kernel that is left behind keeps this process's output open.
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def watch_and_interrupt(cells: list[str], manager, client) -> dict[str, object]:
    drawn: dict[str, list[str]] = {}
    printed: list[str] = []

    def listen(until, interrupt_at: str | None = None) -> None:
        ends = time.monotonic() + DEADLINE_S
        interrupted = False
        while not until():
            if time.monotonic() > ends or not manager.is_alive():
                raise TimeoutError(f"no end after {DEADLINE_S} s, or the kernel died: {drawn}")
            try:
                message = client.get_iopub_msg(timeout=1)
            except queue.Empty:
                continue
            content = message["content"]
            if message["msg_type"] in ("display_data", "update_display_data"):
                html = content["data"].get("text/html", "")
                place = content["transient"].get("display_id", "")
                drawn.setdefault(place, []).append(html)
                if interrupt_at and not interrupted and re.search(interrupt_at, html):
                    interrupted = True
                    manager.interrupt_kernel()
            if message["msg_type"] == "stream":
                printed.append(content["text"])

    def replied(request: str):
        seen: list[bool] = []

        def check() -> bool:
            while not seen and client.shell_channel.msg_ready():
                reply = client.get_shell_msg(timeout=1)
                if reply["parent_header"].get("msg_id") == request:
                    seen.append(True)
            return bool(seen)

        return check

    for source in cells[:3]:
        listen(replied(client.execute(source)))
    drawn.clear()
    started = time.monotonic()
    interrupted_reply = client.execute(cells[3])
    listen(replied(interrupted_reply), interrupt_at="epoch 2/")
    after_s = time.monotonic() - started
    # The cell goes on behind its interrupt: once the run has ended, its table is shown too.
    panel = re.compile(r"<p><strong>(stopped|failed|done)")
    listen(lambda: any(panel.match(texts[-1]) for texts in drawn.values()))
    listen(replied(client.execute("(await run.result).stopped")))
    (texts,) = (texts for texts in drawn.values() if panel.match(texts[-1]))
    return {
        "drawn": len(texts),
        "last": texts[-1],
        "printed": printed,
        "seconds": [after_s, time.monotonic() - started],
    }


main(sys.argv[1])
