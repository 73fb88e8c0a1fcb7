"""A folder for one build's socket and pipe, and the socket itself: short to name, and gone with the build."""

import os
import shutil
import socket
import tempfile

__all__ = ["SocketFolder", "short_folder"]

_LONGEST_PATH = 90
_BACKLOG = 128


class SocketFolder:
    """Made at once; nobody is heard yet."""

    def __init__(self) -> None:
        self.path = short_folder()
        """The folder, for what else lives as long as the build."""
        self.ask = os.path.join(self.path, "ask")
        """Where launchers connect."""
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        """Their connections; it never waits."""
        self.listener.bind(self.ask)
        self.listener.listen(_BACKLOG)
        self.listener.setblocking(False)

    def clear(self) -> None:
        """Remove it with all that lies there."""
        shutil.rmtree(self.path, ignore_errors=True)


def short_folder() -> str:
    """A new one of our own: a socket's path must be short, and blanks end a word of MAKEFLAGS."""
    folder = tempfile.mkdtemp(prefix="tb-")
    if len(os.fsencode(folder)) > _LONGEST_PATH or len(folder.split()) != 1:
        os.rmdir(folder)
        folder = tempfile.mkdtemp(prefix="tb-", dir="/tmp")
    return folder
