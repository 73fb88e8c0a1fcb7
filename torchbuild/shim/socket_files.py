"""Socket files: which one a process means by a path, and whether it is one of the build's own.

A path says little: it may be relative, lead through links or another root, or through a mount that the
process made. So the file itself is opened, as its process would find it, and looked at.
"""

import os
from typing import Dict, NamedTuple, Sequence

__all__ = ["OWN", "SocketFile", "SocketFiles"]

OWN = ("/torchbuild", "/tmp", "/dev/shm")  # noqa: S108  where a build may keep sockets, not a file of ours
"""What is a build's own in every executor."""
_NAMES_OF_SELF = (b"self", b"thread-self")


class SocketFile(NamedTuple):
    """A socket file that a process means."""

    file: int
    """Held open, without rights to its content; whoever asked closes it."""
    path: str
    """Where it lies, links followed."""
    is_own: bool
    """Whether it is the build's."""


class SocketFiles:
    """Knows the mounts that were there before the build could make any."""

    def __init__(self, own: Sequence[str] = OWN) -> None:
        """Look at the mounts.

        Args:
            own: directories, absolute, below which everything is the build's.
        """
        self._own = tuple(own)
        self._mounts = {
            number
            for number, point in _mounts().items()
            if any(_is_below(point, top) or _contains(number, top) for top in self._own)
        }

    def find(self, pid: int, path: bytes) -> SocketFile:
        """The file that a process means.

        Args:
            pid: the process, or a thread of it.
            path: as it stands in the address.

        Raises:
            OSError: as the process would get it.
        """
        parts = [part for part in path.split(b"/") if part not in (b"", b".")]
        if path.startswith(b"/") and len(parts) > 1 and parts[0] == b"proc" and parts[1] in _NAMES_OF_SELF:
            parts[1] = b"%d" % pid
        start = "/proc/%d/%s" % (pid, "root" if path.startswith(b"/") else "cwd")
        folder = os.open(start, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            file = os.open(b"/".join(parts) or b".", os.O_PATH | os.O_CLOEXEC, dir_fd=folder)
        finally:
            os.close(folder)
        where = os.fsdecode(os.readlink(b"/proc/self/fd/%d" % file))
        is_own = any(_is_below(where, top) for top in self._own) and self._is_of_old(file)
        return SocketFile(file, where, is_own)

    def _is_of_old(self, file: int) -> bool:
        """Whether it is seen through a mount that was there before; not every kernel lets a user ask."""
        number = _mount_of(file)
        return number is None or number in self._mounts


def _is_below(path: str, top: str) -> bool:
    return path == top or path.startswith(top + "/")


def _contains(number: int, folder: str) -> bool:
    try:
        file = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return _mount_of(file) == number
    finally:
        os.close(file)


def _mount_of(file: int) -> "int | None":
    try:
        with open("/proc/self/fdinfo/%d" % file, "rb") as handle:
            for line in handle:
                if line.startswith(b"mnt_id:"):
                    return int(line[7:])
    except OSError:
        pass
    return None


def _mounts() -> Dict[int, str]:
    """Mount points by number."""
    found = {}
    try:
        with open("/proc/self/mountinfo", "rb") as handle:
            for line in handle:
                fields = line.split(b" ")
                found[int(fields[0])] = fields[4].decode("unicode_escape", "replace")
    except OSError:
        pass
    return found
