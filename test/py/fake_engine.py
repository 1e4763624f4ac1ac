"""An engine's driver without vLLM: what it does is said in the arguments under ``behaviour``."""

import json
import os
import signal
import socket
import sys
import time
from pathlib import Path

from genenv.channel import Channel


def main(config_file: str) -> None:
    settings = json.loads(Path(config_file).read_text())
    behaviour = settings["arguments"]["behaviour"]
    print("last words", flush=True)
    if behaviour == "dies before it connects":
        sys.exit(3)
    if behaviour == "never connects":
        time.sleep(60)
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(settings["socket"])
    channel = Channel(sock)
    if behaviour == "cannot start":
        error = {"type": "ValueError", "code": "x", "message": "no\nsuch model\n", "hint": None}
        channel.send({"id": 0, "error": error})
        sys.exit(1)
    channel.send({"id": 0, "result": {"seconds": 1.5}})
    held: list[int] = []
    while True:
        message = channel.receive()
        number, call = message["id"], message["call"]
        if call == "stop":
            return
        if call == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        elif call == "hold":
            channel.send({"id": number, "event": {"at": "held"}})
            held.append(number)
        elif call == "cancel":
            held.remove(number)
            channel.send({"id": number, "event": {"at": "too late"}})
            channel.send({"id": number, "result": None})
        elif call == "fail":
            channel.send({"id": number, "error": message["args"]})
        else:
            channel.send({"id": number, "result": message["args"]})


if __name__ == "__main__":
    main(sys.argv[-1])
