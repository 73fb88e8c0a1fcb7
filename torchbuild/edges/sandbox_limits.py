"""Limits of a build's processes: the same numbers in every executor, whatever the caller's shell has.

Standard library only: `torchbuild.edges.sandbox` runs in an interpreter without any package. A limit that
only lowers what the caller has needs no rights, so these are numbers that nearly every machine gives; where
one gives less, that much is taken.
"""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["LIMITS", "apply_limits", "become", "limited", "limits_to_ask_for", "take_processors"]

_MIB = 1 << 20

LIMITS: Mapping[str, tuple[int, int, int]] = {
    "core": (resource.RLIMIT_CORE, 0, 0),
    "nofile": (resource.RLIMIT_NOFILE, 1024, 4096),
    "nproc": (resource.RLIMIT_NPROC, 16384, 16384),
    "stack": (resource.RLIMIT_STACK, 8 * _MIB, 64 * _MIB),
}
"""An engine's name of each, its number here, what a process has and what it may raise that to.

No core files beside a build's results; as many open files as the kernel gives by default; a stack that
compilers, which raise it themselves, can raise as far as they do. Processes are counted for all of a user:
that number only has to stop what never ends.
"""

_START = """
import sys
sys.path.append(sys.argv.pop(1))
from torchbuild.edges.sandbox_limits import become
become(sys.argv[1], sys.argv[2:])
"""


def limits_to_ask_for() -> dict[str, tuple[int, int]]:
    """What a process has and may raise that to, by an engine's name; never more than we may have."""
    return {name: _possible(number, soft, hard) for name, (number, soft, hard) in LIMITS.items()}


def _possible(number: int, soft: int, hard: int) -> tuple[int, int]:
    """An engine without rights, as an ordinary user's, is refused more than its user has."""
    most = resource.getrlimit(number)[1]
    return (soft, hard) if most == resource.RLIM_INFINITY else (min(soft, most), min(hard, most))


def apply_limits() -> None:
    """Give this process the limits; what it starts inherits them."""
    for number, soft, hard in LIMITS.values():
        try:
            resource.setrlimit(number, (soft, hard))
        except ValueError:  # the caller may not raise its own
            resource.setrlimit(number, _possible(number, soft, hard))


def take_processors(count: int) -> None:
    """Run on so many of the processors that we may use, and tell that to whoever counts them.

    Neighbours, from one that differs from command to command, so that two builds rarely take the same.
    """
    own = sorted(os.sched_getaffinity(0))
    if 0 < count < len(own):
        first = os.getpid() % len(own)
        os.sched_setaffinity(0, (own + own)[first : first + count])


def limited(argv: Sequence[str], processors: int | None) -> list[str]:
    """The words that run a program of this machine with the limits, on so many processors, None for all."""
    place = str(Path(__file__).resolve().parents[2])
    return [*(sys.executable, "-I", "-S", "-X", "utf8", "-c", _START, place), str(processors or 0), *argv]


def become(processors: str, argv: list[str]) -> None:
    """Be that program from here on.

    Raises:
        OSError: it cannot be started.
    """
    take_processors(int(processors))
    apply_limits()
    os.execvp(argv[0], argv)  # noqa: S606  no shell is the point
