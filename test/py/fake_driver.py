"""A role's driver without veRL: what it does is said in the settings under ``behaviour``."""

import json
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

from genenv.channel import Channel


def main(config_file: str) -> None:
    settings = json.loads(Path(config_file).read_text())
    behaviour = settings["behaviour"]
    for line in range(40):
        print(f"log line {line}", flush=True)
    if behaviour == "dies before it connects":
        sys.exit(3)
    if behaviour == "never connects":
        time.sleep(60)
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(settings["socket"])
    channel = Channel(sock)
    if behaviour == "dies before it is ready":
        os.kill(os.getpid(), signal.SIGKILL)
    if behaviour == "never ready":
        time.sleep(60)
    if behaviour == "cannot start":
        channel.send({"error": {"type": "ValueError", "message": "first\nlast line\n"}})
        sys.exit(1)
    if behaviour == "deaf to stop":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    channel.send({"result": {"seconds": 1.5}})
    while True:
        message = channel.receive()
        if message["call"] == "stop" and behaviour != "deaf to stop":
            return
        channel.send(answer(channel, message))


def answer(channel: Channel, message: dict[str, Any]) -> dict[str, Any]:
    call, args = message["call"], message.get("args", {})
    if call == "die":
        print("so long", flush=True)
        os._exit(args["code"])
    if call == "fail":
        return {"error": {"type": args["type"], "message": args["message"], "traceback": ""}}
    if call == "rollout" and args.get("slow"):
        # As the trainer does: until a message comes, which can only be "cancel".
        while not channel.has_message():
            time.sleep(0.01)
        assert channel.receive() == {"call": "cancel"}
        return {"result": None}
    if call == "rollout":
        rolled_out = {"rows": args.get("rows", [1]), "failed": args.get("failed", [])}
        return {"result": {"args": args} | rolled_out}
    return {"result": {"call": call, "args": args, "A": os.environ.get("A")}}


if __name__ == "__main__":
    # Called as `python -m genenv.role.driver CONFIG_FILE`.
    assert sys.argv[1:3] == ["-m", "genenv.role.driver"], sys.argv
    main(sys.argv[3])
