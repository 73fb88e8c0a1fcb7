"""GNU make's jobserver, as a named pipe: a token is a byte in it, and whoever starts a job takes one out.

Makes before 4.4 know no named pipe and stop where they are told of one. They get its descriptor too: makes
take the last option that names a jobserver, and a beginning of its name is enough for them. Ninja and others
look for the whole name, and find the pipe's.

Each client may run one job without a token, so the pipe holds one less than jobs may run. A client that is
killed takes its tokens with it: who serves looks after them (see `Jobserver.settle`).
"""

import array
import fcntl
import os
import termios
from typing import Dict, List, Optional, Tuple

from .processors import processors

__all__ = ["CLIENTS", "MAKE", "MOST_JOBS", "NINJA", "Jobserver", "allowed_jobs", "without_jobs"]

NINJA = "Cdfktw"
"""Letters of its options after which the rest of a cluster is a value, or the next word."""
MAKE = "CEIOWfo"
"""The same of make."""

CLIENTS = ("make", "gmake", "ninja", "cargo")
"""Programs that take tokens, by the beginning of their names."""
MOST_JOBS = 4096
"""So many tokens always fit into a pipe."""
_TOKEN = b"+"


class Jobserver:
    """The pipe, and how many tokens there are in all."""

    def __init__(self, folder: str, jobs: int) -> None:
        """Make the pipe and fill it.

        Args:
            folder: where the pipe is made.
            jobs: how many jobs may run at once.
        """
        self.jobs = jobs
        """Jobs that may run at once."""
        self.lent = 0
        """Further tokens, for jobs that wait and do nothing."""
        self.recovered = 0
        """Tokens that were lost with their clients, and put back."""
        self._withheld = 0
        self.path = os.path.join(folder, "jobs")
        """The pipe."""
        os.mkfifo(self.path, 0o600)
        self._file = os.open(self.path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        os.write(self._file, _TOKEN * (jobs - 1))
        self.inherited = os.open(self.path, os.O_RDWR)
        """What ninja is to inherit, for makes below it: they may change its mode, and not ours."""

    def makeflags(self) -> str:
        """What clients read in ``MAKEFLAGS``."""
        file = self.inherited
        return " -j --jobserver-auth=fifo:%s --jobserver-f=%d,%d" % (self.path, file, file)

    def free(self) -> int:
        """Tokens that nobody has."""
        count = array.array("i", [0])
        fcntl.ioctl(self._file, termios.FIONREAD, count)
        return count[0]

    def lend(self) -> bool:
        """One more, for a job that only waits; false where the pipe is full."""
        if not self._put(1):
            return False
        self.lent += 1
        return True

    def take_back(self) -> bool:
        """One that was lent; false where somebody has it now."""
        if self.lent == 0 or not (self._withheld or self._take()):
            return False
        self._withheld = max(0, self._withheld - 1)
        self.lent -= 1
        return True

    def withhold(self) -> None:
        """Take out all that nobody has: no further job begins beside those that run."""
        while self._take():
            self._withheld += 1

    def settle(self, missing: int) -> None:
        """Put back what is missing, or take away what is too much."""
        if missing > 0 and self._put(missing):
            self.recovered += missing
        for _ in range(-missing):
            self._take()

    def _put(self, count: int) -> bool:
        try:
            return os.write(self._file, _TOKEN * min(count, MOST_JOBS)) > 0
        except BlockingIOError:  # somebody else filled it
            return False

    def _take(self) -> bool:
        try:
            return len(os.read(self._file, 1)) == 1
        except BlockingIOError:
            return False

    def close(self) -> None:
        """Remove the pipe."""
        os.close(self._file)
        os.close(self.inherited)
        os.unlink(self.path)


def without_jobs(options: List[str], with_value: str) -> Tuple[List[str], Optional[int]]:
    """Options of ninja or make without ``-j`` and ``-l``, which would make them leave the jobserver.

    Args:
        options: as they were given.
        with_value: `NINJA` or `MAKE`.

    Returns:
        The others, and the number of jobs that was asked for; None where there was none.
    """
    kept: List[str] = []
    jobs: Optional[int] = None
    left = list(options)
    while left:
        part = left.pop(0)
        if part == "--":
            return [*kept, part, *left], jobs
        letters, letter, value = _taken_apart(part, with_value)
        if not letter:
            kept.append(part)
            continue
        if letters:
            kept.append("-" + letters)
        if not value and left and _is_number(left[0]):
            value = left.pop(0)
        if letter == "j" and value.isdigit():
            jobs = int(value)
    return kept, jobs


_LONG = {"--jobs": "j", "--load-average": "l", "--max-load": "l"}


def _taken_apart(part: str, with_value: str) -> Tuple[str, str, str]:
    """Letters before, ``j`` or ``l`` or nothing, and what is attached to it."""
    if part.startswith("--"):
        name, _, value = part.partition("=")
        return "", _LONG.get(name, ""), value
    if part.startswith("-"):
        for index, letter in enumerate(part[1:], 1):
            if letter in "jl":
                return part[1:index], letter, part[index + 1 :]
            if letter in with_value:
                break
    return "", "", ""


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


def allowed_jobs(asked: Optional[int], environ: Dict[str, str]) -> int:
    """How many jobs may run: what the machine's user allows, and no more than the front end asks for.

    Args:
        asked: ``-j`` of the front end; 0 is ninja's word for any number.
        environ: ``MAX_JOBS`` in it is the user's.
    """
    limit = environ.get("MAX_JOBS", "")
    wanted = [int(limit)] if limit.isdigit() and int(limit) > 0 else []
    wanted += [asked] if asked else []
    return min([*wanted, MOST_JOBS]) if wanted else processors()
