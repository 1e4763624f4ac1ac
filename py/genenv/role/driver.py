"""A role's driver process: ``python -m genenv.role.driver CONFIG_FILE`` with a socket to the loop.

The file holds the role's name, its veRL configuration, the Ray address and the socket's path.
Commands arrive as ``{"call": name, "args": {...}}`` and are answered with ``{"result": ...}`` or
``{"error": {...}}``. When the loop goes away, so does this process.
"""

import json
import os
import socket
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from genenv.channel import Channel, ChannelClosed
from genenv.process import die_with_parent

_CALLS = ("rollout", "update", "forget", "prompt_lengths", "track", "save", "load")


def main(config_file: str) -> None:
    die_with_parent()
    settings = json.loads(Path(config_file).read_text())
    # Before veRL or vLLM is imported: both read these at import.
    os.environ.update(settings["environment"])
    channel = _connect(settings["socket"])
    started = time.monotonic()
    try:
        trainer = _start(settings)
    except BaseException as error:
        channel.send({"error": _describe(error)})
        raise
    channel.send({"result": {"seconds": time.monotonic() - started}})
    try:
        _serve(channel, trainer)
        trainer.finish()
    finally:
        _shut_down()


def _connect(path: str) -> Channel:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.connect(path)
    return Channel(sock)


def _start(settings: dict[str, Any]) -> Any:
    import ray
    from omegaconf import OmegaConf

    _log("importing veRL")
    import transfer_queue as tq

    import genenv.plugin.algorithms  # noqa: F401  (registers the objective)
    from genenv.role.trainer import RoleTrainer

    ray.init(
        address=settings["ray_address"],
        namespace=f"genenv-{settings['role']}",
        runtime_env=settings["runtime_env"],
        log_to_driver=False,
    )
    config = OmegaConf.create(settings["config"])
    _validate(config)
    tq.init(config.transfer_queue)
    _log("starting workers")
    trainer = RoleTrainer(config)
    trainer.placement_groups = [_placement_group(name) for name in settings["placement_groups"]]
    trainer.start()
    _log("ready")
    return trainer


def _placement_group(name: str) -> Any:
    """One that the loop made: by its id, since names belong to a namespace."""
    from ray._raylet import PlacementGroupID
    from ray.util.placement_group import PlacementGroup

    return PlacementGroup(PlacementGroupID(bytes.fromhex(name)))


def _validate(config: Any) -> None:
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import validate_config

    validate_config(
        config=config,
        use_reference_policy=need_reference_policy(config),
        use_critic=need_critic(config),
    )


def _serve(channel: Channel, trainer: Any) -> None:
    """Answer calls until the loop stops this role or goes away.

    A message that comes during a rollout can only be "cancel": the loop waits for each answer.
    """
    trainer.is_cancelled = channel.has_message
    while True:
        try:
            message = channel.receive()
        except ChannelClosed:
            _log("the loop is gone")
            return
        if message["call"] == "stop":
            return
        if message["call"] == "cancel":
            continue
        channel.send(_answer(trainer, message))


def _answer(trainer: Any, message: dict[str, Any]) -> dict[str, Any]:
    try:
        if message["call"] not in _CALLS:
            raise ValueError(f"unknown call {message['call']!r}; known: {', '.join(_CALLS)}")
        return {"result": getattr(trainer, message["call"])(**message["args"])}
    except Exception as error:
        traceback.print_exc()
        return {"error": _describe(error)}


def _describe(error: BaseException) -> dict[str, str]:
    return {
        "type": type(error).__qualname__,
        "message": str(error) or type(error).__qualname__,
        "traceback": traceback.format_exc(),
    }


def _shut_down() -> None:
    import ray

    ray.shutdown()


def _log(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
