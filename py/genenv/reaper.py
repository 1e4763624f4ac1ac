"""``python -m genenv.reaper FOLDER PID``: cleans up after a Node that can't any more.

It waits on a line that Node holds the other end of: at its end, Node has closed its
session or is dead, however it died. The process PID (genenv.control) then gets a while to end in
good order; what still belongs to the private folder after that is killed, and the folder removed.
A child of nobody, so that killing a whole tree of processes leaves it to do its work.
"""

import contextlib
import os
import select
import sys
from pathlib import Path

from genenv import private_folder

# Within this a stopped run has finished its step and saved, or it is not going to.
_GRACE_SECONDS = 20.0
_READ_BYTES = 4096
# The descriptor of the line to Node.
_LINE = 3


def main(folder: Path, control: int) -> None:
    try:
        watched = os.pidfd_open(control)
    except ProcessLookupError:
        watched = None
    if os.fork() > 0:
        os._exit(0)
    with contextlib.suppress(FileNotFoundError), (folder / private_folder.OWNER_FILE).open() as own:
        private_folder.hold(own)
        private_folder.sweep(folder.parent)
        while os.read(_LINE, _READ_BYTES):
            pass
        if watched is not None:
            select.select([watched], [], [], _GRACE_SECONDS)
        private_folder.remove(folder, own)
    private_folder.sweep(folder.parent)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
